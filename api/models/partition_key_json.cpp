#include "api/models/partition_key_json.h"

#include "partitioning/keys/typed_key.h"

namespace octavo::api::cosmos {

boost::json::value partition_key_json(std::string_view text, bool hierarchical) {
  const auto key = partitioning::TypedKey::decode(text, hierarchical);
  if (!key) return boost::json::value(text);
  boost::json::array values;
  for (const auto& value : key->values()) {
    if (const auto* string = std::get_if<std::string>(&value)) {
      values.emplace_back(*string);
    } else if (const auto* number = std::get_if<double>(&value)) {
      values.emplace_back(*number);
    } else if (const auto* boolean = std::get_if<bool>(&value)) {
      values.emplace_back(*boolean);
    } else if (std::holds_alternative<partitioning::NullValue>(value)) {
      values.emplace_back(nullptr);
    } else {
      values.emplace_back(boost::json::object());
    }
  }
  return values;
}

}  // namespace octavo::api::cosmos

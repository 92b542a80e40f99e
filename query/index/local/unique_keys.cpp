#include "query/index/local/unique_keys.h"

#include "base/murmur3.h"
#include "query/index/raw_field.h"
#include "query/json/number.h"
#include "query/json/split.h"

namespace octavo::query {

namespace {

// Appends the same text for equal values: strings without escapes, numbers by value; a missing value counts as null.
void append_comparable(std::string& out, std::string_view raw) {
  if (raw.empty() || raw == "null") {
    out += 'u';
  } else if (raw.front() == '"') {
    const auto text = decode_json_string(raw);
    out += 's';
    for (const char c : text.value_or("")) {
      out += c;
      // No other value begins like this: the zero at its end cannot be confused with one inside.
      if (c == '\0') out += '\x01';
    }
  } else if (raw.front() == '-' || (raw.front() >= '0' && raw.front() <= '9')) {
    double number = nearest_double(raw);
    if (number == 0) number = 0;  // not -0
    out += 'n';
    out.append(reinterpret_cast<const char*>(&number), sizeof number);
  } else {
    out += 'r';
    out += raw;
  }
  out += '\0';
}

class PolicyUniqueKeys final : public storage::UniqueKeys {
 public:
  explicit PolicyUniqueKeys(std::vector<std::vector<FieldPath>> keys) : keys_(std::move(keys)) {}

  std::vector<std::string> digests(std::string_view body) const override {
    std::vector<std::string> digests;
    digests.reserve(keys_.size());
    std::string values;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      values.assign(1, static_cast<char>(i));
      for (const auto& path : keys_[i]) append_comparable(values, find_raw_field(body, path));
      const auto hash = murmur3_x64_128(values);
      std::string digest;
      for (int shift = 56; shift >= 0; shift -= 8) digest.push_back(static_cast<char>(hash.high >> shift));
      for (int shift = 56; shift >= 0; shift -= 8) digest.push_back(static_cast<char>(hash.low >> shift));
      digests.push_back(std::move(digest));
    }
    return digests;
  }

 private:
  std::vector<std::vector<FieldPath>> keys_;
};

}  // namespace

std::shared_ptr<const storage::UniqueKeys> unique_keys_of(std::vector<std::vector<FieldPath>> keys) {
  if (keys.empty()) return nullptr;
  return std::make_shared<PolicyUniqueKeys>(std::move(keys));
}

}  // namespace octavo::query

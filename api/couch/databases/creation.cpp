#include "api/couch/databases/creation.h"

#include <string>

#include "api/couch/call/query_parameters.h"
#include "api/couch/databases/properties.h"
#include "api/models/database_properties.h"

namespace octavo::api::couch {

namespace {

Expected<std::optional<std::int64_t>> positive(CreationParameters parameters, std::string_view name) {
  const auto text = parameters(name);
  if (!text) return std::nullopt;
  const auto number = parse_integer(*text);
  if (!number || *number <= 0) {
    return fail(ErrorCode::bad_request, "The `" + std::string(name) + "` value should be a positive integer.");
  }
  return *number;
}

Expected<bool> truth(CreationParameters parameters, std::string_view name) {
  const auto text = parameters(name).value_or("false");
  if (text == "true" || text == "false") return text == "true";
  return fail(ErrorCode::bad_request, "Invalid `" + std::string(name) + "` parameter");
}

}  // namespace

Expected<partitioning::CreateDatabaseOptions> options_of_creation(CreationParameters parameters, std::string_view name,
                                                                  std::uint32_t q_max) {
  partitioning::CreateDatabaseOptions options;
  OCTAVO_TRY(const auto q, positive(parameters, "q"));
  OCTAVO_TRY_VOID(positive(parameters, "n"));  // ignored: one server keeps one copy
  if (q) {
    if (*q > q_max) {
      return fail(ErrorCode::bad_request, "The `q` value should be at most " + std::to_string(q_max) + ".");
    }
    options.q = static_cast<std::uint32_t>(*q);
  }
  OCTAVO_TRY(options.partitioned, truth(parameters, "partitioned"));
  if (options.partitioned && name.starts_with('_')) {
    return fail(ErrorCode::bad_request, "Cannot partition a system database");
  }
  OCTAVO_TRY(const auto properties, properties_of_creation(parameters, name));
  options.definition = to_couch_definition(properties);
  OCTAVO_TRY(options.auto_index, truth(parameters, "auto_index"));
  return options;
}

}  // namespace octavo::api::couch

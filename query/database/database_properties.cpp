#include "query/database/database_properties.h"

#include <algorithm>

#include <boost/json.hpp>

#include "query/json/parsed_document.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

constexpr std::string_view kCouchStart = "{\"properties\":";

const json::object* object_in(const json::object& object, std::string_view name) {
  const auto* member = object.if_contains(name);
  return member != nullptr ? member->if_object() : nullptr;
}

std::optional<std::int64_t> integer_in(const json::object& object, std::string_view name) {
  const auto* member = object.if_contains(name);
  if (member == nullptr || !member->is_int64()) return std::nullopt;
  return member->get_int64();
}

std::uint32_t highest_of(const json::object& throughput) {
  const auto highest = std::max(integer_in(throughput, "manual"), integer_in(throughput, "autoscale_max"));
  return static_cast<std::uint32_t>(highest.value_or(0));
}

}  // namespace

DatabaseProperties DatabaseProperties::of(std::string_view definition) {
  DatabaseProperties properties;
  if (definition.empty()) return properties;
  const auto parsed = parse_json(definition);
  if (!parsed || !parsed->is_object()) return properties;
  const auto& stored = parsed->get_object();
  if (const auto* couch = object_in(stored, "properties")) {
    properties.ttl_s = integer_in(*couch, "ttl");
    properties.throughput = static_cast<std::uint32_t>(integer_in(*couch, "throughput").value_or(0));
    properties.all_versions_s = integer_in(*couch, "all_versions").value_or(0);
    return properties;
  }
  const auto* container = object_in(stored, "resource");
  if (container == nullptr) return properties;
  properties.ttl_s = integer_in(*container, "defaultTtl");
  if (const auto* policy = object_in(*container, "changeFeedPolicy")) {
    properties.all_versions_s = 60 * integer_in(*policy, "retentionDuration").value_or(0);
  }
  const auto* throughput = object_in(stored, "throughput");
  properties.shares_throughput = throughput == nullptr;
  const auto* enforced = throughput != nullptr ? throughput->if_contains("enforced") : nullptr;
  if (enforced != nullptr && enforced->is_bool() && enforced->get_bool())
    properties.throughput = highest_of(*throughput);
  return properties;
}

std::string DatabaseProperties::to_json() const {
  json::object shown;
  if (ttl_s) shown["ttl"] = *ttl_s;
  if (throughput != 0) shown["throughput"] = throughput;
  if (all_versions_s != 0) shown["all_versions"] = all_versions_s;
  return json::serialize(shown);
}

std::string DatabaseProperties::to_couch_definition() const {
  if (*this == DatabaseProperties{}) return {};
  return std::string(kCouchStart) + to_json() + '}';
}

std::uint32_t shared_throughput_of(std::string_view cosmos_database) {
  const auto parsed = parse_json(cosmos_database);
  if (!parsed || !parsed->is_object()) return 0;
  const auto* throughput = object_in(parsed->get_object(), "throughput");
  return throughput == nullptr ? 0 : highest_of(*throughput);
}

bool is_couch_definition(std::string_view definition) {
  return definition.starts_with(kCouchStart);
}

}  // namespace octavo::query

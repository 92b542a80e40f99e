#pragma once

#include "partitioning/database.h"
#include "query/database/database_properties.h"
#include "query/json/parsed_document.h"

namespace octavo::tests {

/// Reads the definitions of this layer's tests: {"ttl":…,"throughput":…,"indexing_policy":{…}}, or an empty text.
inline Expected<query::DatabaseProperties> read_definition(partitioning::Database& database) {
  query::DatabaseProperties properties;
  const auto definition = database.definition();
  if (definition->text.empty()) return properties;
  OCTAVO_TRY(const auto parsed, query::parse_json(definition->text));
  const auto& members = parsed.as_object();
  if (const auto* ttl = members.if_contains("ttl")) properties.ttl_s = ttl->as_int64();
  if (const auto* throughput = members.if_contains("throughput")) {
    properties.throughput = static_cast<std::uint32_t>(throughput->as_int64());
  }
  if (const auto* policy = members.if_contains("indexing_policy")) {
    properties.automatic_index = query::AutomaticIndex::from_policy(policy->as_object(), query::StringOrder::bytes);
  }
  return properties;
}

}  // namespace octavo::tests

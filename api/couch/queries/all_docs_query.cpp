#include "api/couch/queries/all_docs_query.h"

#include <utility>

#include "api/couch/call/query_parameters.h"

namespace octavo::api::couch {

namespace {

Expected<void> read_keys(const ParameterValue& value, AllDocsQuery& query) {
  const auto kind = value.is_json() ? "body member" : "parameter";
  OCTAVO_TRY(auto keys, value.as_json());
  if (keys.is_null()) {
    query.keys.reset();
    return {};
  }
  if (!keys.is_array()) return fail(ErrorCode::bad_request, std::string("`keys` ") + kind + " must be an array.");
  query.keys = std::move(keys.get_array());
  return {};
}

Expected<void> read_parameter(std::string_view name, const ParameterValue& value, AllDocsQuery& query) {
  if (name == "keys") return read_keys(value, query);
  if (name == "key") {
    OCTAVO_TRY(query.start, value.as_json());
    query.end = query.start;
  } else if (name == "startkey" || name == "start_key") {
    OCTAVO_TRY(query.start, value.as_json());
  } else if (name == "endkey" || name == "end_key") {
    OCTAVO_TRY(query.end, value.as_json());
  } else if (name == "inclusive_end") {
    OCTAVO_TRY(query.inclusive_end, value.as_boolean());
  } else if (name == "descending") {
    OCTAVO_TRY(query.descending, value.as_boolean());
  } else if (name == "include_docs") {
    OCTAVO_TRY(query.include_docs, value.as_boolean());
  } else if (name == "conflicts") {
    OCTAVO_TRY(query.conflicts, value.as_boolean());
  } else if (name == "update_seq") {
    OCTAVO_TRY(query.update_sequence, value.as_boolean());
  } else if (name == "limit") {
    OCTAVO_TRY(query.limit, value.as_count());
  } else if (name == "skip") {
    OCTAVO_TRY(query.skip, value.as_count());
  }
  return {};
}

Expected<AllDocsQuery> checked(AllDocsQuery query) {
  if (query.keys && (query.start || query.end)) {
    return fail(ErrorCode::bad_request, "`keys` is incompatible with `key`, `start_key` and `end_key`",
                "query_parse_error");
  }
  return query;
}

std::optional<std::string_view> as_id(const boost::json::value& key) {
  if (!key.is_string()) return std::nullopt;
  return std::string_view(key.get_string());
}

}  // namespace

Expected<AllDocsQuery> parse_all_docs_query(const Request& request, AllDocsQuery base) {
  for (const auto& [name, value] : request.query) {
    OCTAVO_TRY_VOID(read_parameter(name, ParameterValue(value), base));
  }
  return checked(std::move(base));
}

Expected<AllDocsQuery> parse_all_docs_query(const boost::json::object& members, AllDocsQuery base) {
  for (const auto& [name, value] : members) {
    OCTAVO_TRY_VOID(read_parameter(name, ParameterValue(value), base));
  }
  return checked(std::move(base));
}

IdBounds bounds_of_partition(std::string_view partition) {
  return {std::string(partition) + ":", std::string(partition) + ";"};
}

IdBounds bounds_of_prefix(std::string_view prefix) {
  std::string high(prefix);
  ++high.back();
  return {std::string(prefix), std::move(high)};
}

std::optional<partitioning::DocumentRange> range_of(const AllDocsQuery& query, const IdBounds& bounds) {
  // First find the lower and the upper end, independent of the direction. Ids are strings; keys of every other type
  // sort before them.
  const auto& lower_key = query.descending ? query.end : query.start;
  const auto& upper_key = query.descending ? query.start : query.end;
  const bool lower_inclusive = !query.descending || query.inclusive_end;
  const bool upper_inclusive = query.descending || query.inclusive_end;

  partitioning::DocumentRange range;
  range.descending = query.descending;
  std::optional<std::string> lower;
  std::optional<std::string> upper;
  bool lower_in = true;
  bool upper_in = true;
  if (lower_key) {
    if (const auto id = as_id(*lower_key)) {
      lower = std::string(*id);
      lower_in = lower_inclusive;
    }
  }
  if (upper_key) {
    const auto id = as_id(*upper_key);
    if (!id) return std::nullopt;
    upper = std::string(*id);
    upper_in = upper_inclusive;
  }
  if (!bounds.low.empty() && (!lower || *lower < bounds.low)) {
    lower = bounds.low;
    lower_in = true;
  }
  if (!bounds.high.empty() && (!upper || *upper >= bounds.high)) {
    upper = bounds.high;
    upper_in = false;  // the bound is never an id: `p;` has no partition and `_design0` is reserved
  }
  if (lower && upper && *upper < *lower) return std::nullopt;
  range.start = query.descending ? upper : lower;
  range.end = query.descending ? lower : upper;
  range.end_inclusive = query.descending ? lower_in : upper_in;
  return range;
}

}  // namespace octavo::api::couch

#include "api/couch/queries/view_query.h"

#include <utility>

#include "api/couch/call/query_parameters.h"
#include "partitioning/keys/partition_key.h"

namespace octavo::api::couch {

namespace {

std::unexpected<Error> query_error(std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), "query_parse_error");
}

/// A parameter of the query string or of a JSON body.
struct Parameter {
  std::string_view name;
  ParameterValue value;
  std::string text;  ///< the value as text: `true` also for JSON's true
};

Parameter make_parameter(std::string_view name, std::string_view text) {
  return {name, ParameterValue(text), std::string(text)};
}
Parameter make_parameter(std::string_view name, const boost::json::value& value) {
  return {name, ParameterValue(value),
          value.is_string() ? std::string(value.get_string()) : boost::json::serialize(value)};
}

Expected<void> read_freshness(const Parameter& parameter, ViewQuery& query) {
  using Update = ViewQuery::Update;
  const std::string& text = parameter.text;
  if (parameter.name == "stale") {
    if (text != "ok" && text != "update_after") return query_error("Invalid value for `stale`.");
    query.update = text == "ok" ? Update::no : Update::lazy;
  } else if (parameter.name == "update") {
    if (text != "true" && text != "false" && text != "lazy") return query_error("Invalid value for `update`.");
    query.update = text == "true" ? Update::yes : text == "false" ? Update::no : Update::lazy;
  } else if (text != "true" && text != "false") {
    return query_error("Invalid value for `stable`.");  // valid values have no effect: there is only one copy
  }
  return {};
}

Expected<void> read_keys(const Parameter& parameter, ViewQuery& query) {
  OCTAVO_TRY(auto keys, parameter.value.as_json());
  if (keys.is_null()) {
    query.keys.reset();
    return {};
  }
  if (!keys.is_array()) {
    if (parameter.value.is_json()) return fail(ErrorCode::bad_request, "`keys` body member must be an array.");
    return query_error("`keys` must be an array of strings.");
  }
  query.keys = std::move(keys.get_array());
  return {};
}

Expected<void> read_range(const Parameter& parameter, ViewQuery& query) {
  const auto name = parameter.name;
  auto& range = query.range;
  if (name == "key") {
    OCTAVO_TRY(range.start, parameter.value.as_json());
    range.end = range.start;
  } else if (name == "startkey" || name == "start_key") {
    OCTAVO_TRY(range.start, parameter.value.as_json());
  } else if (name == "endkey" || name == "end_key") {
    OCTAVO_TRY(range.end, parameter.value.as_json());
  } else if (name == "startkey_docid" || name == "start_key_doc_id") {
    range.start_document = parameter.text;
  } else if (name == "endkey_docid" || name == "end_key_doc_id") {
    range.end_document = parameter.text;
  } else if (name == "inclusive_end") {
    OCTAVO_TRY(range.inclusive_end, parameter.value.as_boolean());
  } else if (name == "descending") {
    OCTAVO_TRY(range.descending, parameter.value.as_boolean());
  }
  return {};
}

Expected<void> read_view_parameter(const Parameter& parameter, ViewQuery& query) {
  const auto name = parameter.name;
  const auto& value = parameter.value;
  if (name == "keys") return read_keys(parameter, query);
  if (name == "stale" || name == "stable" || name == "update") return read_freshness(parameter, query);
  if (name == "reduce") {
    OCTAVO_TRY(query.reduce, value.as_boolean());
  } else if (name == "group") {
    OCTAVO_TRY(query.group, value.as_boolean());
  } else if (name == "group_level") {
    OCTAVO_TRY(query.group_level, value.as_count());
  } else if (name == "limit") {
    OCTAVO_TRY(query.limit, value.as_count());
  } else if (name == "skip") {
    OCTAVO_TRY(query.skip, value.as_count());
  } else if (name == "include_docs") {
    OCTAVO_TRY(query.include_docs, value.as_boolean());
  } else if (name == "conflicts") {
    OCTAVO_TRY(query.conflicts, value.as_boolean());
  } else if (name == "sorted") {
    OCTAVO_TRY(query.sorted, value.as_boolean());
  } else if (name == "update_seq") {
    OCTAVO_TRY(query.update_sequence, value.as_boolean());
  } else if (name == "attachments" || name == "att_encoding_info") {
    OCTAVO_TRY_VOID(value.as_boolean());  // documents have no attachments here
  } else if (name == "partition") {
    OCTAVO_TRY_VOID(partitioning::check_partition_key(parameter.text));
    query.partition = parameter.text;
  } else {
    return read_range(parameter, query);
  }
  return {};
}

}  // namespace

std::uint64_t ViewQuery::level() const {
  if (group_level) return *group_level;
  return group.value_or(false) ? query::views::ReduceScan::exact : 0;
}

Expected<ViewQuery> parse_view_query(const boost::json::object& members, ViewQuery base) {
  for (const auto& [name, value] : members) {
    OCTAVO_TRY_VOID(read_view_parameter(make_parameter(std::string_view(name), value), base));
  }
  return base;
}

Expected<ViewQuery> parse_view_query(const Request& request, ViewQuery base) {
  for (const auto& [name, value] : request.query) {
    OCTAVO_TRY_VOID(read_view_parameter(make_parameter(name, std::string_view(value)), base));
  }
  return base;
}

Expected<void> check_view_query(ViewQuery& query, bool view_has_reduce, bool view_is_partitioned) {
  if (query.group == false && query.group_level.value_or(0) > 0) {
    return query_error("Can't specify group=false and group_level>0 at the same time");
  }
  if (!view_has_reduce && query.reduce == true) return query_error("Reduce is invalid for map-only views.");
  const bool reduce = view_has_reduce && query.reduce.value_or(true);
  if (reduce && query.keys && query.level() != query::views::ReduceScan::exact) {
    return query_error("Multi-key fetchs for reduce views must use `group=true`");
  }
  if (query.keys && !query.keys->empty() && (query.range.start || query.range.end)) {
    return query_error("`keys` is incompatible with `key`, `start_key` and `end_key`");
  }
  if (!reduce && query.level() != 0) return query_error("Invalid use of grouping on a map view.");
  if (reduce && query.include_docs) return query_error("`include_docs` is invalid for reduce");
  if (reduce && query.conflicts) return query_error("`conflicts` is invalid for reduce views.");
  if (view_is_partitioned && !query.partition) {
    return query_error("`partition` parameter is mandatory for queries to this view.");
  }
  if (!view_is_partitioned && query.partition) {
    return query_error("`partition` parameter is not supported in this design doc");
  }
  query.reduce = reduce;
  return {};
}

}  // namespace octavo::api::couch

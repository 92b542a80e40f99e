// `/{db}/_index_advisor`: which indexes would save how much, and cost how much, for the recorded queries; `…/verify`:
// what these cost without each index and with it.
#include "query/advice/index/index_advisor.h"

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/couch/advice/advisor_scan.h"
#include "api/couch/advice/routes.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "api/models/container_definition.h"
#include "query/advice/index/charge_history.h"
#include "query/advice/key_candidate.h"
#include "query/database/database_services.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;
namespace advice = query::advice;

constexpr std::size_t advices_default = 5;

double two_decimals(double number) {
  return std::round(number * 100) / 100;
}

std::unexpected<Error> unknown_member(std::string_view name) {
  return fail(ErrorCode::bad_request, fmt::format("Unknown member of the request: {}", name));
}

Expected<std::size_t> read_max(const json::object& body) {
  std::size_t max = advices_default;
  for (const auto& [name, value] : body) {
    if (name != "max") return unknown_member(name);
    const auto limit = static_cast<std::int64_t>(advice::IndexAdvisor::advices_max);
    if (!value.is_int64() || value.get_int64() < 1 || value.get_int64() > limit) {
      return fail(ErrorCode::bad_request, fmt::format("`max` must be a whole number from 1 to {}.", limit));
    }
    max = static_cast<std::size_t>(value.get_int64());
  }
  return max;
}

Expected<std::string> read_text(const json::value& value, std::string_view name) {
  if (value.is_string() && !value.get_string().empty()) return std::string(value.get_string());
  return fail(ErrorCode::bad_request, fmt::format("`{}` must be a string.", name));
}

Expected<advice::IndexChoice> read_choice(const json::object& body) {
  advice::IndexChoice choice;
  for (const auto& [name, value] : body) {
    if (name == "ddoc") {
      OCTAVO_TRY(choice.design_document, read_text(value, name));
      std::string& id = *choice.design_document;
      if (!storage::is_design_id(id)) id.insert(0, storage::design_prefix);
    } else if (name == "name") {
      OCTAVO_TRY(choice.name, read_text(value, name));
    } else if (name == "fields") {
      OCTAVO_TRY(choice.fields, query::parse_ordered_fields(value));
    } else {
      return unknown_member(name);
    }
  }
  if (!choice.design_document && !choice.name && !choice.fields) {
    return fail(ErrorCode::bad_request, "Name an index by `ddoc`, `name` or `fields`.");
  }
  return choice;
}

std::string_view confidence_name(advice::RowSource source) {
  switch (source) {
    case advice::RowSource::recorded:
      return "recorded_rows";
    case advice::RowSource::average:
      return "average_rows";
    case advice::RowSource::assumed:
      return "assumed_ranges";
  }
  return "";
}

json::object recorded_time_json(const advice::RecordedRequests& recorded) {
  return {{"requests", recorded.count},
          {"since", recorded.count > 0 ? json::value(recorded.since_s) : json::value()},
          {"seconds", recorded.seconds()},
          {"shapes", recorded.shapes.size()},
          {"enough", advice::IndexAdvisor::is_enough(recorded)}};
}

/// As a policy names the property.
json::value policy_path(const query::FieldPath& path) {
  const auto named = advice::AdvisedPath::of(path);
  return named ? json::value(named->text()) : json::value(path.text());
}

/// What to post to `_index`, or to add to the indexing policy of a container.
void append_definition(json::object& shown, const advice::IndexProposal& proposal) {
  switch (proposal.kind) {
    case advice::IndexProposal::Kind::json:
      shown["index"] = json::object{{"fields", query::ordered_fields_to_json(proposal.fields)}};
      shown["type"] = "json";
      shown["partitioned"] = proposal.partitioned;
      return;
    case advice::IndexProposal::Kind::composite: {
      json::array fields;
      for (const auto& [path, descending] : proposal.fields) {
        fields.push_back(json::object{{"path", policy_path(path)}, {"order", descending ? "descending" : "ascending"}});
      }
      shown["index"] = json::object{{"compositeIndexes", json::array{std::move(fields)}}};
      shown["type"] = "composite";
      return;
    }
    case advice::IndexProposal::Kind::included_path: {
      json::string path = policy_path(proposal.fields[0].path).as_string();
      path += "/?";
      shown["index"] = json::object{{"includedPaths", json::array{json::object{{"path", std::move(path)}}}}};
      shown["type"] = "included_path";
      return;
    }
  }
}

json::object advice_json(const advice::IndexAdvice& index) {
  json::object shown;
  append_definition(shown, index.proposal);
  json::array serves;
  for (const advice::ServedShape& served : index.serves) {
    serves.push_back(json::object{{"shape", served.shape->text},
                                  {"in_partition", served.shape->in_partition},
                                  {"count", served.shape->total().count},
                                  {"now", two_decimals(served.now)},
                                  {"then", two_decimals(served.then)},
                                  {"saves_per_day", two_decimals(served.saves_per_day)},
                                  {"tests_documents", served.tests_documents},
                                  {"sorts_in_memory", served.sorts_in_memory},
                                  {"confidence", confidence_name(served.source)}});
  }
  shown["serves"] = std::move(serves);
  shown["saves_per_day"] = two_decimals(index.saves_per_day);
  shown["costs_per_day"] = two_decimals(index.costs_per_day);
  shown["bytes"] = index.bytes;
  shown["confidence"] = confidence_name(index.source);
  return shown;
}

/// How an index is named: that of a design document, or a part of a policy.
json::object name_json(const query::IndexDefinition& index) {
  if (!index.automatic) {
    return {{"ddoc", index.design_document},
            {"name", index.name},
            {"type", "json"},
            {"partitioned", index.partitioned},
            {"fields", query::ordered_fields_to_json(index.fields)}};
  }
  return {{"ddoc", nullptr},
          {"name", nullptr},
          {"type", index.fields.size() > 1 ? "composite" : "included_path"},
          {"fields", query::ordered_fields_to_json(index.fields)}};
}

json::object shown(const advice::IndexAdvisor& advisor, const advice::IndexAdvices& advices) {
  json::array create;
  for (const advice::IndexAdvice& index : advices.create) create.push_back(advice_json(index));
  json::array unused;
  for (const advice::UnusedIndex& index : advices.unused) {
    json::object one = name_json(*index.definition);
    one["days"] = two_decimals(index.days);
    one["costs_per_day"] = two_decimals(index.costs_per_day);
    unused.push_back(std::move(one));
  }
  const bool knows_writes = advisor.recorded().before.has_value();
  return {
      {"documents", advisor.documents()},
      {"recorded", recorded_time_json(advisor.recorded())},
      {"writes",
       json::object{{"per_day", knows_writes ? json::value(std::round(advices.writes.per_day)) : json::value()},
                    {"rows_per_write", knows_writes ? json::value(two_decimals(advices.writes.rows)) : json::value()}}},
      {"create", std::move(create)},
      {"unused", std::move(unused)},
      {"shapes_left_out", advices.shapes_left_out}};
}

Expected<advice::PresentIndexes> present_indexes(partitioning::Database& database, query::DatabaseServices& services) {
  advice::PresentIndexes present;
  const auto container = cosmos::container_of(database);
  if (!container && container.error().code != ErrorCode::not_found) return std::unexpected(container.error());
  present.is_container = container.has_value();
  OCTAVO_TRY(present.catalog, services.indexes().catalog());
  present.partition_ids = database.partition_ids();
  return present;
}

json::value window_json(const advice::ChargeWindow& window) {
  if (window.count == 0) return nullptr;
  const auto count = static_cast<double>(window.count);
  return json::object{{"count", window.count},
                      {"request_units", two_decimals(window.request_units / count)},
                      {"results", two_decimals(static_cast<double>(window.results) / count)},
                      {"from", window.from_s},
                      {"to", window.to_s}};
}

json::object verified_json(const query::IndexDefinition& index, const advice::RecordedRequests& recorded) {
  json::object shown = name_json(index);
  json::array shapes;
  double saved = 0;
  bool is_measured = false;
  for (const advice::ChargeChange& change : advice::charge_changes(recorded, advice::mark_of(index.identity))) {
    const auto each = change.saved();
    const auto per_day = change.saved_per_day(recorded.now_s);
    is_measured = is_measured || per_day.has_value();
    saved += per_day.value_or(0);
    shapes.push_back(json::object{{"shape", change.shape->text},
                                  {"in_partition", change.shape->in_partition},
                                  {"before", window_json(change.without)},
                                  {"after", window_json(change.with)},
                                  {"saved", each ? json::value(two_decimals(*each)) : json::value()},
                                  {"saves_per_day", per_day ? json::value(two_decimals(*per_day)) : json::value()}});
  }
  shown["measured"] = is_measured;
  shown["saves_per_day"] = is_measured ? json::value(two_decimals(saved)) : json::value();
  shown["shapes"] = std::move(shapes);
  return shown;
}

Task<Expected<Reply>> verify(Call& call, advice::IndexChoice choice, bool is_named) {
  OCTAVO_CO_TRY(auto* const services, query::required(call.database_services()));
  const auto show = [&]() -> Expected<Reply> {
    OCTAVO_TRY(const auto present, present_indexes(*call.database, *services));
    const auto indexes = advice::find_indexes(*present.catalog, choice);
    if (indexes.empty() && is_named) return fail(ErrorCode::not_found, "There is no such index.");
    const advice::RecordedRequests recorded = services->recorder().recorded();
    json::array verified;
    for (const auto& index : indexes) verified.push_back(verified_json(*index, recorded));
    return json_reply(json::object{{"recorded", recorded_time_json(recorded)}, {"indexes", std::move(verified)}});
  };
  co_return co_await call.services.engine.workers().run_blocking(show);
}

/// Errors: bad_request, conflict (`advisor_running`).
Task<Expected<Reply>> advise_on_indexes(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  advice::IndexAdvisorInput input;
  OCTAVO_CO_TRY(input.max, read_max(body));
  OCTAVO_CO_TRY(auto* const services, query::required(call.database_services()));
  WorkerSlices slices(call.services.engine, call.request);
  const auto look = [&] { return present_indexes(*call.database, *services); };
  OCTAVO_CO_TRY(input.present, co_await slices.run(look));
  input.recorded = services->recorder().recorded();
  if (const auto written = query::write_counters(*call.database)) {
    input.written = *written;
  } else {
    input.recorded.before.reset();
  }
  // Proposing takes milliseconds with many shapes and indexes.
  const auto begin = [&] { return advice::IndexAdvisor::start(call.database, std::move(input)); };
  OCTAVO_CO_TRY(const auto advisor, co_await slices.run(begin));
  OCTAVO_CO_TRY_VOID(co_await scan_documents(slices, *call.database, *advisor));
  const auto show = [&]() -> Expected<Reply> {
    OCTAVO_TRY(const auto advices, advisor->advice());
    return json_reply(shown(*advisor, advices));
  };
  co_return co_await call.services.engine.workers().run_long(show);
}

Task<Expected<Reply>> verify_indexes(Call& call) {
  return verify(call, {}, false);
}

Task<Expected<Reply>> verify_index(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(auto choice, read_choice(body));
  co_return co_await verify(call, std::move(choice), true);
}

}  // namespace

void add_index_advisor_routes(RouteList& routes) {
  constexpr auto access = Access::database_admin;
  routes.push_back({Method::post, "/{db}/_index_advisor", access, advise_on_indexes});
  routes.push_back({Method::get, "/{db}/_index_advisor/verify", access, verify_indexes});
  routes.push_back({Method::post, "/{db}/_index_advisor/verify", access, verify_index});
}

}  // namespace octavo::api::couch

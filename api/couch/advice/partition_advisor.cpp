// `/{db}/_partition_advisor`: reads documents, and says how well each candidate for a partition key would divide them.
#include "query/advice/partition_advisor.h"

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "api/couch/advice/advice_page.h"
#include "api/couch/advice/advice_request.h"
#include "api/couch/advice/advisor_scan.h"
#include "api/couch/advice/routes.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "api/models/container_definition.h"
#include "query/advice/key_proposal.h"
#include "query/database/database_services.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;
namespace advice = query::advice;

double rounded(double number, double steps) {
  return std::round(number * steps) / steps;
}
double rounded_days(double days) {
  return rounded(days, 10);
}
double rounded_share(double share) {
  return rounded(share, 10'000);
}

json::value days_json(const std::optional<double>& days) {
  return days ? json::value(rounded_days(*days)) : json::value();
}
json::value whole_json(const std::optional<double>& number) {
  return number ? json::value(std::llround(*number)) : json::value();
}

json::array shares_json(const std::vector<double>& shares) {
  json::array shown;
  for (const double share : shares) shown.push_back(rounded_share(share));
  return shown;
}

/// A value of the key; of a long one, its beginning as a string.
json::value value_json(const std::string& text) {
  boost::system::error_code error;
  auto parsed = json::parse(text, error);
  if (!error) return parsed;
  std::string_view whole = text;
  while (!whole.empty() && (static_cast<unsigned char>(whole.back()) & 0xC0) == 0x80) whole.remove_suffix(1);
  if (!whole.empty() && static_cast<unsigned char>(whole.back()) >= 0xC0) whole.remove_suffix(1);
  return json::value(std::string(whole) + "…");
}

json::object forecast_json(const advice::Forecast& forecast) {
  return {{"per_day", whole_json(forecast.bytes_per_day)},
          {"full_in_days", days_json(forecast.full_in_days)},
          {"full_after_days", days_json(forecast.full_after_days)}};
}

json::object storage_json(const advice::KeyAdvice& key) {
  json::array largest;
  for (const auto& [value, forecast] : key.largest) {
    json::object shown{{"value", value_json(value.text)}, {"bytes", value.bytes}, {"error_max", value.error_max}};
    for (auto& [name, member] : forecast_json(forecast)) shown[name] = member;
    largest.push_back(std::move(shown));
  }
  return {{"physical_shares", shares_json(key.physical_shares)},
          {"closes_after_days", days_json(key.closes_after_days)},
          {"largest", std::move(largest)},
          {"typical", forecast_json(key.typical)}};
}

json::object throughput_json(const advice::KeyAdvice& key) {
  json::array over;
  for (const std::string& value : key.over_partition) over.push_back(value_json(value));
  return {{"writes_hottest_share", rounded_share(key.hottest_share)},
          {"writes_physical_shares", shares_json(key.physical_write_shares)},
          {"usable", whole_json(key.usable)},
          {"usable_as_spread", whole_json(key.usable_as_spread)},
          {"over_10000", std::move(over)}};
}

std::string_view kind_name(advice::KeyCandidate::Kind kind) {
  switch (kind) {
    case advice::KeyCandidate::Kind::single:
      return "single";
    case advice::KeyCandidate::Kind::hierarchical:
      return "hierarchical";
    case advice::KeyCandidate::Kind::composite:
      return "composite";
  }
  return "";
}

std::string_view verdict_name(advice::Verdict verdict) {
  switch (verdict) {
    case advice::Verdict::recommended:
      return "recommended";
    case advice::Verdict::good:
      return "good";
    case advice::Verdict::rejected:
      return "rejected";
  }
  return "";
}

json::object queries_json(const advice::QueryAdvice& queries) {
  json::array shapes;
  for (const auto& [shape, fans_out] : queries.by_shape) {
    shapes.push_back(json::object{{"shape", shape.text},
                                  {"in_partition", shape.in_partition},
                                  {"count", shape.count},
                                  {"error_max", shape.error_max},
                                  {"request_units", rounded(shape.request_units, 100)},
                                  {"results", shape.results},
                                  {"fans_out", fans_out}});
  }
  return {{"fan_out_share", rounded_share(queries.fan_out_share)},
          {"fan_out_charge_share", rounded_share(queries.fan_out_charge_share)},
          {"by_shape", std::move(shapes)}};
}

/// Requests by key, as they would be under a candidate.
json::object points_json(const advice::PointAdvice& points) {
  json::array hottest;
  for (const advice::RequestedValue& value : points.hottest) {
    hottest.push_back(json::object{{"value", value_json(value.text)},
                                   {"share", rounded_share(value.share)},
                                   {"error", rounded_share(value.share_error)},
                                   {"reads", value.reads},
                                   {"writes", value.writes}});
  }
  return {{"found", points.found.requests()},
          {"hottest", std::move(hottest)},
          {"physical_shares", shares_json(points.physical_shares)},
          {"usable", whole_json(points.usable)}};
}

json::object requested_json(const advice::RequestedDocuments& requested) {
  const advice::PointUse& all = requested.all();
  return {{"recorded", all.requests()},
          {"reads", all.reads},
          {"writes", all.writes},
          {"one_in", partitioning::PointRequests::mean_gap},
          {"since", requested.since_s() > 0 ? json::value(requested.since_s()) : json::value()}};
}

json::object recorded_json(const advice::RecordedRequests& recorded) {
  return {{"requests", recorded.count},
          {"since", recorded.count > 0 ? json::value(recorded.since_s) : json::value()},
          {"enough", advice::PartitionAdvisor::is_enough(recorded)}};
}

json::object values_json(const advice::KeyAdvice& key) {
  // Distinct values do not follow from a sample of the documents.
  if (key.values_are_of_sample) return {{"estimate", nullptr}, {"low", key.values_low}, {"high", nullptr}};
  return {{"estimate", key.values}, {"low", key.values_low}, {"high", key.values_high}};
}

json::object key_json(const advice::KeyAdvice& key) {
  json::array reasons;
  for (const std::string& reason : key.reasons) reasons.push_back(json::value(reason));
  return {{"key", candidate_json(key.candidate)},
          {"kind", kind_name(key.candidate.kind)},
          {"rank", key.rank},
          {"verdict", verdict_name(key.verdict)},
          {"values", values_json(key)},
          {"storage", storage_json(key)},
          {"throughput", throughput_json(key)},
          {"queries", key.queries ? json::value(queries_json(*key.queries)) : json::value()},
          {"requests", key.points ? json::value(points_json(*key.points)) : json::value()},
          {"missing", key.missing},
          {"collisions_possible", key.collisions_possible},
          {"reasons", std::move(reasons)}};
}

json::object shown(const advice::PartitionAdvisor& advisor, const advice::PresentKey& present,
                   const advice::RecordedRequests& recorded) {
  json::array candidates;
  for (const advice::KeyAdvice& key : advisor.advice(recorded)) candidates.push_back(key_json(key));
  const auto& request = advisor.request();
  json::object reply{{"documents", advisor.documents()},
                     {"bytes", advisor.bytes()},
                     {"exact", !advisor.sample()},
                     {"recorded", recorded_json(recorded)},
                     {"point_requests", requested_json(advisor.requested())},
                     {"current", present.candidate ? candidate_json(*present.candidate) : json::value()},
                     {"physical_partitions", advisor.physical_partitions()},
                     {"throughput", request.throughput ? json::value(*request.throughput) : json::value()},
                     {"horizon_days", request.horizon_days},
                     {"days_observed", rounded_days(advisor.time_frame().span_s() / advice::seconds_per_day)},
                     {"without_time", advisor.documents_without_time()}};
  if (const auto sample = advisor.sample()) {
    reply["sample"] =
        json::object{{"documents", sample->documents}, {"share_error", rounded_share(sample->share_error)}};
  }
  reply["candidates"] = std::move(candidates);
  if (advisor.documents() > 0 && !advisor.time_frame().shows_growth()) {
    reply["warning"] =
        "The times of the documents are less than a day apart, so their growth is unknown. `time` can name a property "
        "with the time of a document.";
  }
  return reply;
}

/// How the documents of the call's database are divided.
Expected<advice::PresentKey> present_key_of(const partitioning::Database& database) {
  const auto container = cosmos::container_of(database);
  if (!container && container.error().code != ErrorCode::not_found) return std::unexpected(container.error());
  if (!container) return advice::PresentKey{std::nullopt, !database.partitioned()};
  advice::PresentKey present{advice::KeyCandidate{}, false};
  for (const std::string& text : (*container)->key_path_texts) {
    OCTAVO_TRY(auto path, advice::AdvisedPath::parse(text));
    present.candidate->paths.push_back(std::move(path));
  }
  if ((*container)->hierarchical()) present.candidate->kind = advice::KeyCandidate::Kind::hierarchical;
  present.ids_are_unique = (*container)->key_path_texts == std::vector<std::string>{"/id"};
  return present;
}

/// The throughput that the database has, if the request names none.
void complete(advice::AdviceRequest& request, const partitioning::Database& database) {
  const auto budget = database.meter().budget();
  if (!request.throughput && budget && budget->rate() > 0) request.throughput = budget->rate();
}

/// Errors: bad_request, conflict (`advisor_running`).
Task<Expected<Reply>> advise(Call& call, advice::AdviceRequest request) {
  complete(request, *call.database);
  OCTAVO_CO_TRY(const auto present, present_key_of(*call.database));
  OCTAVO_CO_TRY(const auto* const services, query::required(call.database_services()));
  const advice::RecordedRequests recorded = services->recorder().recorded();
  WorkerSlices slices(call.services.engine, call.request);
  if (request.candidates_are_proposed) {
    const auto propose = [&] {
      return advice::propose_keys(*call.database, recorded, advice::AdviceRequest::candidates_max);
    };
    OCTAVO_CO_TRY(request.candidates, co_await slices.run(propose));
  }
  const auto begin = [&] { return advice::PartitionAdvisor::start(call.database, std::move(request), present); };
  OCTAVO_CO_TRY(const auto advisor, co_await slices.run(begin));
  OCTAVO_CO_TRY_VOID(co_await scan_documents(slices, *call.database, *advisor));
  // Judging takes milliseconds for each candidate with many values.
  const auto show = [&] {
    const auto reply = shown(*advisor, present, recorded);
    return accepts_by_name(call.request, "text/html") ? advice_page(call.database->name(), reply) : json_reply(reply);
  };
  co_return co_await call.services.engine.workers().run_long(show);
}

Task<Expected<Reply>> post_question(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(auto request, read_advice_request(body));
  co_return co_await advise(call, std::move(request));
}

/// For browsers: the members of the body are parameters, whose values are JSON, or texts that are no JSON.
Task<Expected<Reply>> get_question(Call& call) {
  json::object body;
  for (const auto& [name, value] : call.request.query) {
    boost::system::error_code error;
    auto parsed = json::parse(value, error);
    body[name] = error ? json::value(value) : std::move(parsed);
  }
  OCTAVO_CO_TRY(auto request, read_advice_request(body));
  co_return co_await advise(call, std::move(request));
}

}  // namespace

void add_partition_advisor_routes(RouteList& routes) {
  routes.push_back({Method::post, "/{db}/_partition_advisor", Access::database_admin, post_question});
  routes.push_back({Method::get, "/{db}/_partition_advisor", Access::database_admin, get_question});
}

}  // namespace octavo::api::couch

#include "api/couch/advice/advice_request.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "query/json/parsed_document.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;
using query::advice::AdviceRequest;
using query::advice::AdvisedPath;
using query::advice::KeyCandidate;

constexpr std::int64_t advised_throughput_max = 10'000'000;  // of 1,000 physical partitions
constexpr std::int64_t horizon_days_max = 100 * 365;
constexpr std::size_t separator_bytes_max = 16;

std::unexpected<Error> no_candidate(const json::value& given) {
  return fail(ErrorCode::bad_request,
              fmt::format("{} is no candidate: expected a path such as \"/id\", a list of up to {} paths, or "
                          "{{\"concat\":[paths],\"separator\":\"-\"}}.",
                          query::readable_json(given), KeyCandidate::hierarchy_paths_max));
}

Expected<std::vector<AdvisedPath>> read_paths(const json::array& given) {
  std::vector<AdvisedPath> paths;
  for (const json::value& each : given) {
    if (!each.is_string()) return no_candidate(each);
    OCTAVO_TRY(auto path, AdvisedPath::parse(each.get_string()));
    paths.push_back(std::move(path));
  }
  return paths;
}

Expected<KeyCandidate> read_composite(const json::object& given) {
  KeyCandidate candidate{KeyCandidate::Kind::composite, {}, {}};
  for (const auto& [name, value] : given) {
    if (name == "concat" && value.is_array()) {
      OCTAVO_TRY(candidate.paths, read_paths(value.get_array()));
    } else if (name == "separator" && value.is_string() && value.get_string().size() <= separator_bytes_max) {
      candidate.separator = value.get_string();
    } else {
      return no_candidate(given);
    }
  }
  if (candidate.paths.size() < 2 || candidate.paths.size() > KeyCandidate::composite_paths_max) {
    return no_candidate(given);
  }
  return candidate;
}

Expected<std::uint32_t> read_number(const json::value& value, std::string_view name, std::int64_t max) {
  if (!value.is_int64() || value.get_int64() < 1 || value.get_int64() > max) {
    return fail(ErrorCode::bad_request, fmt::format("`{}` must be a whole number from 1 to {}.", name, max));
  }
  return static_cast<std::uint32_t>(value.get_int64());
}

std::unexpected<Error> no_candidates() {
  return fail(ErrorCode::bad_request,
              fmt::format("`candidates` must be a list of 1 to {}.", AdviceRequest::candidates_max));
}

Expected<std::vector<KeyCandidate>> read_candidates(const json::value& value) {
  if (!value.is_array() || value.get_array().empty() || value.get_array().size() > AdviceRequest::candidates_max) {
    return no_candidates();
  }
  std::vector<KeyCandidate> candidates;
  for (const json::value& each : value.get_array()) {
    OCTAVO_TRY(auto candidate, read_candidate(each));
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace

Expected<KeyCandidate> read_candidate(const json::value& given) {
  if (given.is_object()) return read_composite(given.get_object());
  if (given.is_string()) {
    OCTAVO_TRY(auto path, AdvisedPath::parse(given.get_string()));
    return KeyCandidate{KeyCandidate::Kind::single, {std::move(path)}, {}};
  }
  if (!given.is_array() || given.get_array().empty() || given.get_array().size() > KeyCandidate::hierarchy_paths_max) {
    return no_candidate(given);
  }
  OCTAVO_TRY(auto paths, read_paths(given.get_array()));
  const auto kind = paths.size() == 1 ? KeyCandidate::Kind::single : KeyCandidate::Kind::hierarchical;
  return KeyCandidate{kind, std::move(paths), {}};
}

json::value candidate_json(const KeyCandidate& candidate) {
  if (candidate.kind == KeyCandidate::Kind::single) return json::value(candidate.paths.front().text());
  json::array paths;
  for (const AdvisedPath& path : candidate.paths) paths.push_back(json::value(path.text()));
  if (candidate.kind == KeyCandidate::Kind::hierarchical) return paths;
  return json::object{{"concat", std::move(paths)}, {"separator", candidate.separator}};
}

Expected<AdviceRequest> read_advice_request(const json::object& body) {
  AdviceRequest request;
  for (const auto& [name, value] : body) {
    if (name == "candidates") {
      OCTAVO_TRY(request.candidates, read_candidates(value));
    } else if (name == "time") {
      if (!value.is_string()) return fail(ErrorCode::bad_request, "`time` must be a path such as \"/at\".");
      OCTAVO_TRY(request.time, AdvisedPath::parse(value.get_string()));
    } else if (name == "throughput") {
      OCTAVO_TRY(request.throughput, read_number(value, name, advised_throughput_max));
      request.is_for_new_database = true;
    } else if (name == "horizon_days") {
      OCTAVO_TRY(request.horizon_days, read_number(value, name, horizon_days_max));
    } else if (name == "mode") {
      if (value != "exact" && value != "sample") {
        return fail(ErrorCode::bad_request, "`mode` must be \"exact\", so that all documents are read, or \"sample\".");
      }
      request.sampled = value == "sample";
    } else {
      return fail(ErrorCode::bad_request, fmt::format("Unknown member of the request: {}", std::string_view(name)));
    }
  }
  request.candidates_are_proposed = request.candidates.empty();
  return request;
}

}  // namespace octavo::api::couch

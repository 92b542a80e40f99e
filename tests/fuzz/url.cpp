// Request targets: percent-encoding, path segments, document ids, the query string and what the endpoints read from it.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <simdjson.h>

#include "api/couch/call/query_parameters.h"
#include "api/couch/call/router.h"
#include "api/couch/changes/changes_query.h"
#include "api/couch/couch_api.h"
#include "api/couch/queries/all_docs_query.h"
#include "api/http/request.h"
#include "fuzz/target.h"
#include "partitioning/keys/partition_key.h"
#include "query/json/parsed_document.h"

namespace {

using namespace octavo;
using namespace octavo::api;
using octavo::fuzz::require;

/// Percent-decoding the slow and obvious way.
std::optional<std::string> decoded(std::string_view text, bool plus_is_space) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    char c = text.front();
    text.remove_prefix(1);
    if (c == '+' && plus_is_space) c = ' ';
    if (c == '%') {
      if (text.size() < 2) return std::nullopt;
      int byte = 0;
      for (const char digit : text.substr(0, 2)) {
        const char lower = digit >= 'A' && digit <= 'F' ? static_cast<char>(digit - 'A' + 'a') : digit;
        const std::size_t value = digits.find(lower);
        if (value == std::string_view::npos) return std::nullopt;
        byte = byte * 16 + static_cast<int>(value);
      }
      c = static_cast<char>(byte);
      text.remove_prefix(2);
    }
    out.push_back(c);
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// What parse_target should make of it; false when it should refuse.
bool expected_target(std::string_view target, std::vector<std::string>& segments, std::vector<QueryParameter>& query) {
  if (!target.starts_with('/')) return false;
  if (std::ranges::any_of(target, [](unsigned char c) { return c < 0x20 || c == 0x7f; })) return false;
  target = target.substr(0, target.find('#'));
  const std::size_t question = target.find('?');
  for (const std::string_view part : split(target.substr(0, question), '/')) {
    if (part.empty()) continue;
    auto segment = decoded(part, false);
    if (!segment) return false;
    segments.push_back(*std::move(segment));
  }
  if (segments.size() > target_parts_max) return false;
  if (question == std::string_view::npos) return true;
  for (const std::string_view pair : split(target.substr(question + 1), '&')) {
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    auto name = decoded(pair.substr(0, equals), true);
    auto value = decoded(equals == std::string_view::npos ? "" : pair.substr(equals + 1), true);
    if (!name || !value) return false;
    query.push_back({*std::move(name), *std::move(value)});
  }
  return query.size() <= target_parts_max;
}

struct OneHeader final : HeaderSource {
  std::optional<std::string_view> find(std::string_view) const override { return value; }
  void for_each(FunctionRef<void(std::string_view, std::string_view)> visit) const override { visit("X", value); }
  std::string_view value;
};

void check_encoding(std::string_view text) {
  const std::string encoded = percent_encode(text);
  require(std::ranges::none_of(encoded, [](unsigned char c) { return c <= 0x20 || c > 0x7e; }),
          "encoding is printable");
  require(percent_decode(encoded, false) == text && percent_decode(encoded, true) == text, "encoding is reversible");
  for (const bool plus : {false, true}) require(percent_decode(text, plus) == decoded(text, plus), "decoding is plain");
}

void check_id(const std::string& id) {
  using namespace octavo::partitioning;
  for (const bool partitioned : {false, true}) {
    const auto checked = check_document_id(id, partitioned);
    const auto key = partition_key_of(id, partitioned);
    require(hash_position(id, partitioned) < hash_space_end, "every id has a place");
    if (!checked) {
      require(!checked.error().reason.empty(), "a refusal has a reason");
      continue;
    }
    require(!id.empty() && id.size() <= 7168, "ids have limits");
    const bool reserved = id.starts_with("_design/") || id.starts_with("_local/");
    require(reserved || id.front() != '_', "other ids do not begin with an underscore");
    if (partitioned && !reserved) {
      const bool is_text = simdjson::validate_utf8(id.data(), id.size());
      require(!key.empty() && (check_partition_key(key).has_value() || !is_text), "a good id has a good partition key");
      require(hash_position(id, true) == hash_position_of_key(key), "and lives where its partition does");
    }
  }
  require(effective_partition_key(id).size() == 16, "a hash has its size");
}

void check_parameters(const Request& request) {
  for (const auto& [name, value] : request.query) {
    const couch::ParameterValue parameter(value);
    (void)parameter.as_boolean();
    const auto count = parameter.as_count();
    const auto integer = couch::parse_integer(value);
    if (integer && *integer >= 0)
      require(count && *count == static_cast<std::uint64_t>(*integer), "counts are numbers");
    const auto json = parameter.as_json();
    if (json) require(query::parse_json(boost::json::serialize(*json)).has_value(), "a JSON parameter is JSON");
    const auto last = std::find_if(request.query.rbegin(), request.query.rend(),
                                   [&](const auto& other) { return other.name == name; });
    require(request.parameter(name) == std::string_view(last->value), "the last of a repeated parameter counts");
  }
  if (const auto query = couch::parse_all_docs_query(request)) {
    for (const auto& bounds :
         {couch::IdBounds{}, couch::bounds_of_partition("p"), couch::bounds_of_prefix("_design/")}) {
      const auto range = couch::range_of(*query, bounds);
      if (!range || !range->start || !range->end || bounds.low.empty()) continue;
      const auto& low = query->descending ? *range->end : *range->start;
      require(low >= bounds.low, "a range stays within its bounds");
    }
  }
  if (const auto changes = couch::parse_changes_query(request)) {
    require(changes->seq_interval >= 1 && changes->patience.wait().count() >= 0, "a feed has sane numbers");
    require(changes->patience.wait().count() <= 60'000, "and bounded patience");
  }
  (void)couch::require_json_content_type(request);
  (void)couch::accepts_by_name(request, "multipart/mixed");
  (void)couch::none_match_has(request, "\"1-a\"");
  for (const auto& segment : request.segments) {
    const std::string location = couch::location_of(request, "db", segment);
    require(location.find('\n') == std::string::npos && location.find('\r') == std::string::npos,
            "no line break gets into a header");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  octavo::fuzz::InputReader in(octavo::fuzz::text_of(data, size));
  const std::string_view target = in.line();
  // The connection lets no control character into a header.
  const std::string_view header_value = in.rest().substr(0, in.rest().find_first_of(std::string_view("\0\r\n\x7f", 4)));
  static const couch::Router router(couch::all_routes());

  check_encoding(target);
  // Kept from input to input, as a connection keeps it from request to request.
  static Request request;
  std::vector<std::string> segments;
  std::vector<QueryParameter> query;
  const bool expected = expected_target(target, segments, query);
  require(parse_target(target, request) == expected, "exactly well formed targets are taken");
  if (!expected) return 0;
  require(request.segments == segments, "the segments are those of the target");
  require(std::ranges::equal(request.query, query,
                             [](const auto& a, const auto& b) { return a.name == b.name && a.value == b.value; }),
          "the parameters are those of the target");

  OneHeader header;
  header.value = header_value;
  request.headers = &header;
  for (const auto method : {Method::get, Method::put, Method::post, Method::del, Method::copy, Method::other}) {
    const auto match = router.match(method, request.segments);
    if (match.route != nullptr) require(match.allowed_methods.empty(), "a route that fits needs no list of others");
    for (const auto& [name, value] : match.parameters) require(!name.empty(), "parameters have names");
  }
  for (const std::string& segment : request.segments) check_id(segment);
  check_parameters(request);
  return 0;
}

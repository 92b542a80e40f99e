#include "query/mango/find_request.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "partitioning/keys/partition_key.h"
#include "query/json/parsed_document.h"
#include "query/mango/text_selector.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

std::unexpected<Error> bad(std::string_view word, std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), word);
}

// Reads the known members of a request one by one. Any other member is an invalid key (check_rest).
class Members {
 public:
  explicit Members(const json::object& object) : object_(object) { taken_.reserve(known_max); }

  const json::value* take(std::string_view name) {
    taken_.push_back(name);
    return object_.if_contains(name);
  }

  Expected<void> boolean(std::string_view name, bool& out) {
    const auto* value = take(name);
    if (!value) return {};
    if (!value->is_bool()) return bad("invalid_boolean", "Invalid boolean value: " + json::serialize(*value));
    out = value->get_bool();
    return {};
  }

  Expected<void> count(std::string_view name, std::uint64_t at_least, std::uint64_t& out) {
    const auto* value = take(name);
    if (!value) return {};
    const bool whole = value->is_uint64() || (value->is_int64() && value->get_int64() >= 0);
    if (!whole || value->to_number<std::uint64_t>() < at_least) {
      return at_least == 0 ? bad("invalid_non_neg_integer",
                                 readable_json(*value) + " is not an integer greater than or equal to zero")
                           : bad("invalid_pos_integer", readable_json(*value) + " is not an integer greater than zero");
    }
    out = value->to_number<std::uint64_t>();
    return {};
  }

  Expected<void> check_rest() const {
    for (const auto& member : object_) {
      if (std::ranges::find(taken_, std::string_view(member.key())) == taken_.end()) {
        return bad("invalid_key", fmt::format("Invalid key {} for this request.", std::string_view(member.key())));
      }
    }
    return {};
  }

 private:
  static constexpr std::size_t known_max = 24;  // a request has fewer known members

  const json::object& object_;
  std::vector<std::string_view> taken_;
};

Expected<std::vector<std::string>> parse_use_index(const json::value& value) {
  const auto invalid = [&] { return bad("invalid_index_name", "Invalid index name: " + json::serialize(value)); };
  std::vector<std::string> parts;
  if (value.is_null()) return parts;
  if (value.is_string()) {
    // "ddoc", "ddoc/name", "_design/ddoc", "_design/ddoc/name"
    const std::string_view text = value.get_string();
    const std::size_t start = text.starts_with("_design/") ? 8 : 0;
    const std::size_t slash = text.find('/', start);
    if (slash == std::string_view::npos) {
      parts.emplace_back(text);
    } else {
      parts.emplace_back(text.substr(0, slash));
      parts.emplace_back(text.substr(slash + 1));
    }
  } else if (value.is_array() && value.get_array().size() <= 2) {
    for (const auto& part : value.get_array()) {
      if (!part.is_string()) return invalid();
      parts.emplace_back(part.get_string());
    }
  } else {
    return invalid();
  }
  if (std::ranges::any_of(parts, &std::string::empty)) return invalid();
  return parts;
}

Expected<std::vector<FieldPath>> parse_fields(const json::value& value) {
  if (!value.is_array()) {
    return bad("invalid_fields", "Fields must be an array of strings, not: " + json::serialize(value));
  }
  if (value.get_array().size() > find_fields_max) {
    return bad("invalid_fields", fmt::format("At most {} fields can be asked for.", find_fields_max));
  }
  std::vector<FieldPath> fields;
  for (const auto& element : value.get_array()) {
    if (!element.is_string() || element.get_string().empty()) {
      return bad("invalid_field", "Invalid JSON for field spec: " + json::serialize(element));
    }
    auto path = FieldPath::parse(element.get_string());
    if (!path) return bad("invalid_field", "Invalid JSON for field spec: " + json::serialize(element));
    fields.push_back(*std::move(path));
  }
  return fields;
}

Expected<bool> parse_stale(const json::value& value) {
  if (value == "ok") return true;
  if (value == "false" || value == false) return false;
  return bad("invalid_ok_or_false_value", "Invalid value for stale: " + json::serialize(value));
}

// A selector that is only an operator with an empty list finds nothing, although as a condition it matches everything.
bool is_empty_combination(const json::value& selector) {
  if (!selector.is_object() || selector.get_object().size() != 1) return false;
  const auto& member = *selector.get_object().begin();
  constexpr std::array<std::string_view, 4> operators{"$all", "$and", "$or", "$in"};
  return std::ranges::find(operators, std::string_view(member.key())) != operators.end() && member.value().is_array() &&
         member.value().get_array().empty();
}

}  // namespace

std::uint64_t FindRequest::matches_needed() const {
  constexpr std::uint64_t all_documents = std::numeric_limits<std::uint64_t>::max();
  return aggregation || skip > all_documents - limit ? all_documents : skip + limit;
}

PlanRequest FindRequest::plan_request() const {
  PlanRequest plan;
  plan.selector = selector;
  plan.matches_nothing = matches_nothing;
  plan.sort = sort;
  plan.matches_needed = matches_needed();
  plan.is_aggregated = aggregation.has_value();
  // Only the document says which conflicts it has.
  if (!conflicts) plan.fields = fields;
  plan.use_index = use_index;
  plan.allow_fallback = allow_fallback;
  plan.strict = strict;
  return plan;
}

Expected<FindRequest> parse_find_request(std::string_view body, std::string_view partition,
                                         std::uint64_t default_limit) {
  const auto parsed_body = parse_json(body);
  if (!parsed_body) return bad("bad_request", parsed_body.error().reason);
  const json::value& root = *parsed_body;
  if (!root.is_object()) return bad("bad_request", "Request body must be a JSON object");
  Members members(root.get_object());
  FindRequest request;
  request.limit = default_limit;

  const auto* selector = members.take("selector");
  if (!selector) return bad("missing_required_key", "Missing required key: selector");
  if (!selector->is_object()) {
    return bad("invalid_selector_json", "Selector must be a JSON object, not: " + json::serialize(*selector));
  }
  // If the body may have integers beyond 64 bits, it is parsed again with exact integers. Only the selector takes such
  // numbers.
  json::value exact;
  if (may_have_large_integer(body)) {
    OCTAVO_TRY(exact, parse_json(body, LargeIntegers::exact));
    selector = &exact.at("selector");
  }
  auto testable = search::without_text(*selector);
  if (testable) request.text_selector = *selector;
  auto parsed = Selector::parse(testable ? *testable : *selector);
  if (!parsed) {
    Error error = std::move(parsed).error();
    if (error.word.empty()) error.word = mango_error_name(error);
    return std::unexpected(std::move(error));
  }
  request.selector = *std::move(parsed);
  request.matches_nothing = is_empty_combination(*selector);

  if (const auto* value = members.take("use_index")) {
    OCTAVO_TRY(request.use_index, parse_use_index(*value));
  }
  if (const auto* value = members.take("bookmark"); value && !value->is_null()) {
    if (!value->is_string() || value->get_string().size() > find_bookmark_bytes_max) {
      return bad("invalid_bookmark", "Invalid bookmark value: " + json::serialize(*value));
    }
    // A reply without a position to continue from has the bookmark "nil".
    if (!value->get_string().empty() && *value != "nil") request.bookmark = std::string(value->get_string());
  }
  OCTAVO_TRY_VOID(members.count("limit", 0, request.limit));
  OCTAVO_TRY_VOID(members.count("skip", 0, request.skip));
  if (const auto* value = members.take("sort")) {
    OCTAVO_TRY(request.sort, parse_ordered_fields(*value));
  }
  if (const auto* value = members.take("fields")) {
    OCTAVO_TRY(request.fields, parse_fields(*value));
  }
  const AggregationMembers aggregation{.group = members.take("group"),
                                       .aggregate = members.take("aggregate"),
                                       .distinct = members.take("distinct"),
                                       .count = members.take("count")};
  OCTAVO_TRY(request.aggregation, parse_aggregation(aggregation, request.sort, request.fields));
  if (request.aggregation) {
    if (request.bookmark) {
      return bad("invalid_bookmark", "Groups have no bookmarks: ask for the next ones by `skip`.");
    }
    request.aggregation->options["sort"] = ordered_fields_to_json(request.sort);
    request.sort.clear();
  }
  request.partition = partition;
  if (const auto* value = members.take("partition")) {
    if (!value->is_string()) return bad("invalid_partition", "Invalid partition: " + json::serialize(*value));
    const std::string_view named = value->get_string();
    if (!named.empty()) {
      OCTAVO_TRY_VOID(partitioning::check_partition_key(named));
      if (!partition.empty() && partition != named) {
        return bad("bad_request", "The partition in the request body is not the one in the URL.");
      }
      request.partition = named;
    }
  }
  OCTAVO_TRY_VOID(members.count("r", 1, request.r));
  OCTAVO_TRY_VOID(members.boolean("conflicts", request.conflicts));
  if (request.conflicts && request.aggregation) {
    return bad("invalid_key", "`conflicts` are of documents; they cannot be aggregated.");
  }
  if (const auto* value = members.take("stale")) {
    OCTAVO_TRY(request.stale_ok, parse_stale(*value));
  }
  OCTAVO_TRY_VOID(members.boolean("update", request.update));
  OCTAVO_TRY_VOID(members.boolean("stable", request.stable));
  OCTAVO_TRY_VOID(members.boolean("execution_stats", request.execution_stats));
  OCTAVO_TRY_VOID(members.boolean("allow_fallback", request.allow_fallback));
  OCTAVO_TRY_VOID(members.check_rest());
  if (request.stale_ok) {
    request.update = false;
    request.stable = true;
  }
  return request;
}

Expected<FindRequest> with_strict_rules(FindRequest request) {
  const bool mixed = std::ranges::any_of(
      request.sort, [&](const OrderedField& field) { return field.descending != request.sort.front().descending; });
  if (mixed) {
    return bad("unsupported_mixed_sort", "Sorts currently only support a single direction for all fields.");
  }
  request.strict = true;
  return request;
}

Error missing_sort_index(const FindRequest& request, bool database_is_partitioned) {
  std::string_view kind = "index";
  if (database_is_partitioned) kind = request.partition.empty() ? "global index" : "partitioned index";
  json::object index{{"index", json::object{{"fields", ordered_fields_to_json(request.sort)}}}, {"type", "json"}};
  if (database_is_partitioned) index["partitioned"] = !request.partition.empty();
  return Error{ErrorCode::no_usable_index,
               fmt::format("No {} exists for this sort, try indexing by the sort fields. The result is too large to be "
                           "sorted in memory; POST to _index: {}",
                           kind, json::serialize(index)),
               "no_usable_index"};
}

}  // namespace octavo::query

#include "api/couch/queries/search_parameters.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <simdjson.h>

#include "api/couch/call/query_parameters.h"
#include "query/json/parsed_document.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;
namespace search = query::search;

constexpr std::size_t limit_default = 25;
constexpr std::size_t limit_max = 200;
// CouchDB's `limit_partitions` and `max_limit_partitions`.
constexpr std::size_t partitioned_limit = 2000;
constexpr std::size_t group_limit_max = 200;
constexpr std::size_t tag_bytes_max = 1024;

std::unexpected<Error> parse_error(std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), "query_parse_error");
}

/// A parameter: text of a query string, or a JSON value.
class Value {
 public:
  explicit Value(std::string_view text) : text_(text) {}
  explicit Value(const json::value& value) : json_(&value) {}

  Expected<std::string> text(std::string_view name) const {
    if (json_ == nullptr) {
      if (!simdjson::validate_utf8(text_.data(), text_.size())) return invalid(name);
      return std::string(text_);
    }
    if (!json_->is_string()) return invalid(name);
    return std::string(json_->get_string());
  }
  Expected<json::value> json() const {
    if (json_ != nullptr) return *json_;
    return query::parse_json(text_);
  }
  Expected<bool> boolean(std::string_view name) const {
    if (json_ != nullptr && json_->is_bool()) return json_->get_bool();
    if (json_ == nullptr && text_ == "true") return true;
    if (json_ == nullptr && text_ == "false") return false;
    return invalid(name);
  }
  Expected<std::int64_t> integer(std::string_view name) const {
    if (json_ != nullptr) {
      if (json_->is_int64()) return json_->get_int64();
      if (!json_->is_string()) return invalid(name);
      const auto number = parse_integer(json_->get_string());
      if (!number) return invalid(name);
      return *number;
    }
    const auto number = parse_integer(text_);
    if (!number) return invalid(name);
    return *number;
  }

 private:
  std::unexpected<Error> invalid(std::string_view name) const {
    const std::string shown = json_ != nullptr ? json::serialize(*json_) : fmt::format("\"{}\"", text_);
    return parse_error(fmt::format("Invalid value for {}: {}", name, shown));
  }

  std::string_view text_;
  const json::value* json_ = nullptr;
};

Expected<std::size_t> positive_integer(const Value& value, std::string_view name, std::size_t most) {
  OCTAVO_TRY(const std::int64_t number, value.integer(name));
  if (number <= 0) return parse_error(fmt::format("{} must be greater than zero", name));
  if (static_cast<std::uint64_t>(number) > most) {
    return parse_error(fmt::format("Value for {} is too large, must not exceed {}", name, most));
  }
  return static_cast<std::size_t>(number);
}

Expected<std::vector<std::string>> strings(const Value& value, std::string_view name) {
  OCTAVO_TRY(const json::value parsed, value.json());
  const auto invalid = [&] {
    return fail(ErrorCode::bad_request, fmt::format("{} is not a valid {} query", json::serialize(parsed), name));
  };
  std::vector<std::string> list;
  if (!parsed.is_array()) return invalid();
  for (const auto& element : parsed.get_array()) {
    if (!element.is_string()) return invalid();
    list.emplace_back(element.get_string());
  }
  if (list.size() > search::search_facets_max) return invalid();
  return list;
}

Expected<std::vector<search::SortKey>> sort_keys(const Value& value, std::string_view name) {
  OCTAVO_TRY(const json::value parsed, value.json());
  std::vector<search::SortKey> keys;
  if (parsed.is_null() || parsed == "relevance") return keys;
  const auto add = [&](const json::value& key) -> Expected<void> {
    if (!key.is_string()) {
      return fail(ErrorCode::bad_request, fmt::format("Unrecognized {} parameter: {}", name, json::serialize(key)));
    }
    OCTAVO_TRY(auto made, search::parse_sort_key(key.get_string()));
    keys.push_back(std::move(made));
    return {};
  };
  if (parsed.is_array()) {
    if (parsed.get_array().size() > search::search_sort_keys_max) {
      return fail(ErrorCode::bad_request,
                  fmt::format("At most {} fields can be sorted by.", search::search_sort_keys_max));
    }
    for (const auto& key : parsed.get_array()) OCTAVO_TRY_VOID(add(key));
  } else {
    OCTAVO_TRY_VOID(add(parsed));
  }
  return keys;
}

Expected<void> add_drilldown(const Value& value, std::vector<std::vector<std::string>>& drilldown) {
  OCTAVO_TRY(const json::value parsed, value.json());
  const auto invalid = [&] {
    return fail(ErrorCode::bad_request, "invalid drilldown query " + json::serialize(parsed));
  };
  if (!parsed.is_array()) return invalid();
  const auto& list = parsed.get_array();
  // The value is one category or a list of categories.
  const bool several = !list.empty() && list.front().is_array();
  const auto add = [&](const json::value& category) -> Expected<void> {
    if (!category.is_array() || category.get_array().size() < 2) return invalid();
    std::vector<std::string> words;
    for (const auto& word : category.get_array()) {
      if (!word.is_string()) {
        return fail(ErrorCode::bad_request,
                    json::serialize(category) + " contains non-string element " + json::serialize(word));
      }
      words.emplace_back(word.get_string());
    }
    if (words.size() > search::search_facets_max || drilldown.size() == search::search_facets_max) return invalid();
    drilldown.push_back(std::move(words));
    return {};
  };
  if (!several) return add(parsed);
  drilldown.clear();
  for (const auto& category : list) OCTAVO_TRY_VOID(add(category));
  return {};
}

Expected<void> read_ranges(const Value& value, search::SearchRequest& request) {
  OCTAVO_TRY(const json::value parsed, value.json());
  const auto invalid = [&] {
    return fail(ErrorCode::bad_request, json::serialize(parsed) + " is not a valid ranges query");
  };
  if (!parsed.is_object() || parsed.get_object().size() > search::search_facets_max) return invalid();
  request.ranges.clear();
  for (const auto& field : parsed.get_object()) {
    if (!field.value().is_object() || field.value().get_object().size() > search::search_facets_max) return invalid();
    std::vector<search::FacetRange> ranges;
    for (const auto& range : field.value().get_object()) {
      if (!range.value().is_string()) return fail(ErrorCode::bad_request, "invalid ranges query");
      OCTAVO_TRY(auto made, search::parse_facet_range(range.key(), range.value().get_string()));
      ranges.push_back(std::move(made));
    }
    request.ranges.emplace_back(std::string(field.key()), std::move(ranges));
  }
  return {};
}

class Reader {
 public:
  explicit Reader(bool partitioned) : limit_max_(partitioned ? partitioned_limit : limit_max) {
    parameters_.request.limit = partitioned ? partitioned_limit : limit_default;
  }

  Expected<void> read(std::string_view name, const Value& value) {
    auto& request = parameters_.request;
    if (name == "q" || name == "query") {
      OCTAVO_TRY(query_, value.text(name));
      parameters_.has_query = true;
    } else if (name == "partition") {
      OCTAVO_TRY(auto partition, value.text(name));
      if (parameters_.partition && *parameters_.partition != partition) {
        return fail(ErrorCode::bad_request, "Multiple conflicting values for `partition` provided");
      }
      parameters_.partition = std::move(partition);
    } else if (name == "bookmark") {
      OCTAVO_TRY_VOID(read_bookmark(value));
    } else if (name == "sort") {
      OCTAVO_TRY(request.sort, sort_keys(value, "sort"));
    } else if (name == "limit") {
      OCTAVO_TRY_VOID(read_limit(value));
    } else if (name == "stale") {
      const auto stale = value.text(name);
      if (!stale || *stale != "ok") return parse_error("stale only available as stale=ok");
      parameters_.stale_ok = true;
    } else if (name == "include_docs") {
      OCTAVO_TRY(parameters_.include_docs, value.boolean(name));
    } else if (name == "include_fields") {
      OCTAVO_TRY(request.include_fields, strings(value, name));
    } else if (name == "stable") {
      OCTAVO_TRY_VOID(value.boolean(name));
    } else {
      OCTAVO_TRY_VOID(read_facets(name, value));
    }
    return {};
  }

  Expected<SearchParameters> finish() {
    if (!parameters_.has_query) return parse_error("Query must include a 'q' or 'query' argument");
    OCTAVO_TRY(parameters_.request.query, search::parse_query(query_));
    if (grouping_) {
      if (grouping_->field.empty()) {
        return fail(ErrorCode::bad_request, "Unrecognized group_field parameter: ");
      }
      parameters_.request.grouping = std::move(grouping_);
    }
    if (!highlighting_.fields.empty()) parameters_.request.highlighting = std::move(highlighting_);
    return std::move(parameters_);
  }

 private:
  Expected<void> read_bookmark(const Value& value) {
    const auto text = value.text("bookmark");
    if (text && (text->empty() || *text == "nil")) return {};
    if (text) parameters_.request.bookmark = search::SearchBookmark::decode(*text);
    if (!parameters_.request.bookmark) return fail(ErrorCode::bad_request, "Invalid bookmark parameter supplied");
    return {};
  }

  Expected<void> read_limit(const Value& value) {
    OCTAVO_TRY(const std::int64_t limit, value.integer("limit"));
    if (limit < 0) return parse_error("limit must be greater than or equal to zero");
    if (static_cast<std::uint64_t>(limit) > limit_max_) {
      return parse_error(fmt::format("Value for limit is too large, must not exceed {}", limit_max_));
    }
    parameters_.request.limit = static_cast<std::size_t>(limit);
    return {};
  }

  search::Grouping& grouping() {
    parameters_.uses_facets_or_groups = true;
    if (!grouping_) grouping_.emplace();
    return *grouping_;
  }

  Expected<void> read_group_field(std::string_view name, const Value& value) {
    OCTAVO_TRY(const auto text, value.text(name));
    OCTAVO_TRY(const auto key, search::parse_sort_key(text));
    if (key.kind == search::SortKey::Kind::distance) {
      return fail(ErrorCode::bad_request, "Group by distance not supported. Group by string terms only.");
    }
    const bool is_number = text.ends_with("<number>");
    if (is_number) return fail(ErrorCode::bad_request, "Group by number not supported. Group by string terms only.");
    grouping().field = key.field;
    parameters_.is_old_grouping = name == "group_by";
    return {};
  }

  Expected<void> read_facets(std::string_view name, const Value& value) {
    auto& request = parameters_.request;
    const bool facets = name == "counts" || name == "ranges" || name == "drilldown";
    if (facets) parameters_.uses_facets_or_groups = true;
    if (name == "counts") {
      OCTAVO_TRY(request.counts, strings(value, name));
    } else if (name == "ranges") {
      return read_ranges(value, request);
    } else if (name == "drilldown") {
      return add_drilldown(value, request.drilldown);
    } else if (name == "group_field" || name == "group_by") {
      return read_group_field(name, value);
    } else if (name == "group_sort") {
      OCTAVO_TRY(grouping().sort, sort_keys(value, "sort"));
    } else if (name == "group_limit") {
      OCTAVO_TRY(grouping().limit, positive_integer(value, name, group_limit_max));
    } else if (name == "highlight_fields") {
      OCTAVO_TRY(highlighting_.fields, strings(value, name));
    } else if (name == "highlight_pre_tag") {
      return read_tag(name, value, highlighting_.before);
    } else if (name == "highlight_post_tag") {
      return read_tag(name, value, highlighting_.after);
    } else if (name == "highlight_number") {
      OCTAVO_TRY(highlighting_.fragments, positive_integer(value, name, 10'000));
    } else if (name == "highlight_size") {
      OCTAVO_TRY(highlighting_.fragment_size, positive_integer(value, name, 1'000'000));
    }
    return {};
  }

  // In a query string a tag is a JSON string such as `"<b>"`; without quotes it is used unchanged.
  static Expected<void> read_tag(std::string_view name, const Value& value, std::string& tag) {
    const auto parsed = value.json();
    if (parsed && parsed->is_string()) {
      tag = parsed->get_string();
    } else {
      OCTAVO_TRY(tag, value.text(name));
    }
    if (tag.size() > tag_bytes_max) return parse_error(fmt::format("Value for {} is too large", name));
    return {};
  }

  std::size_t limit_max_;
  std::string query_;
  SearchParameters parameters_;
  std::optional<search::Grouping> grouping_;
  search::Highlighting highlighting_;
};

}  // namespace

Expected<SearchParameters> read_search_parameters(const Request& request, bool database_is_partitioned) {
  Reader reader(database_is_partitioned);
  if (request.method != Method::post) {
    for (const auto& parameter : request.query) OCTAVO_TRY_VOID(reader.read(parameter.name, Value(parameter.value)));
    return reader.finish();
  }
  OCTAVO_TRY(const auto body, json_object_body(request));
  if (const auto partition = request.parameter("partition"))
    OCTAVO_TRY_VOID(reader.read("partition", Value(*partition)));
  for (const auto& member : body) OCTAVO_TRY_VOID(reader.read(member.key(), Value(member.value())));
  return reader.finish();
}

}  // namespace octavo::api::couch

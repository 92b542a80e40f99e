#include "query/mango/text_selector.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "query/json/number.h"
#include "query/json/parsed_document.h"
#include "query/search/syntax/text_names.h"
#include "query/selector/selector.h"

namespace octavo::query::search {

namespace {

namespace json = boost::json;

using Kind = QueryNode::Kind;
using Occur = QueryNode::Occur;

QueryNode joined(std::vector<QueryNode> nodes, Occur occur) {
  QueryNode node;
  node.kind = Kind::clauses;
  for (auto& one : nodes) node.clauses.push_back({occur, std::move(one)});
  return node;
}

QueryNode exact(std::string field, std::string_view text, Kind kind = Kind::words) {
  QueryNode node;
  node.kind = kind;
  node.field = std::move(field);
  node.text = text;
  node.exact = true;
  return node;
}

bool is_large(const json::value& value) {
  return !large_integer(value).empty();
}
json::value nearest(const json::value& value) {
  return nearest_double(large_integer(value));
}

std::string number_text(double number) {
  return fmt::format("{}", number);
}

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '\\' && i + 1 < path.size()) {
      parts.back() += path[++i];
    } else if (path[i] == '.') {
      parts.emplace_back();
    } else {
      parts.back() += path[i];
    }
  }
  return parts;
}

bool is_index(std::string_view part) {
  return !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
}

class Translator {
 public:
  /// nullopt: not translatable, the search would have to return all documents of the index.
  std::optional<QueryNode> translate(const json::value& selector, const std::string& path, int depth) {
    if (depth > selector_depth_max) return std::nullopt;
    if (!selector.is_object()) return equal(selector, path, depth);
    const auto& members = selector.get_object();
    if (members.empty()) return std::nullopt;
    std::vector<QueryNode> parts;
    for (const auto& member : members) {
      if (auto part = condition(member.key(), member.value(), path, depth + 1)) parts.push_back(*std::move(part));
      if (error) return std::nullopt;
    }
    if (parts.empty()) return std::nullopt;
    if (parts.size() == 1) return std::move(parts.front());
    return joined(std::move(parts), Occur::must);
  }

  std::optional<Error> error;
  std::vector<std::string> columns;

 private:
  std::optional<QueryNode> condition(std::string_view name, const json::value& argument, const std::string& path,
                                     int depth) {
    if (!name.starts_with('$')) return field(name, argument, path, depth);
    if (name == "$text") return text(argument, path);
    if (name == "$default") return translate(argument, path, depth);
    if (name == "$and" || name == "$all") return conjunction(name, argument, path, depth);
    if (name == "$or") return disjunction(argument, path, depth);
    if (name == "$not" || name == "$nor" || name == "$ne" || name == "$nin") {
      // A negated condition cannot be looked up, but the existence of the field can.
      return name == "$nor" || path.empty() ? std::nullopt : std::optional(exists(path));
    }
    if (name == "$elemMatch" || name == "$allMatch") return translate(argument, with_part(path, "[]"), depth);
    if (name == "$eq") return equal(argument, path, depth);
    if (name == "$in") return any_of(argument, path);
    if (name == "$lt" || name == "$lte" || name == "$gt" || name == "$gte") return range(name, argument, path);
    if (name == "$exists") {
      return argument == true && !path.empty() ? std::optional(exists(path)) : std::nullopt;
    }
    if (name == "$beginsWith" && query::is_text(argument)) {
      return exact(use(path, "string"), text_term(argument.get_string()), Kind::prefix);
    }
    if (name == "$mod") return exact(std::string(text_names_field), use(path, "number"));
    if (name == "$regex") return exact(std::string(text_names_field), use(path, "string"));
    if (name == "$size" && argument.is_number()) {
      return number_range(with_part(path, "[]") + ":length", argument, argument, true, true);
    }
    return path.empty() ? std::nullopt : std::optional(exists(path));
  }

  std::optional<QueryNode> field(std::string_view name, const json::value& argument, const std::string& path,
                                 int depth) {
    std::string plain = path;
    std::string in_arrays = path;
    bool indexed = false;
    // A condition on the array element itself has no field name.
    if (name.empty()) return translate(argument, path, depth);
    for (const auto& part : split_path(name)) {
      append_text_part(plain, part);
      append_text_part(in_arrays, is_index(part) ? "[]" : std::string_view(part));
      indexed = indexed || is_index(part);
    }
    auto node = translate(argument, plain, depth);
    if (!indexed || !node) return node;
    // `lines.0.price` may mean an array element or a member named 0.
    const auto known = columns;
    auto other = translate(argument, in_arrays, depth);
    columns = known;
    if (!other) return std::nullopt;
    return joined({*std::move(node), *std::move(other)}, Occur::should);
  }

  std::optional<QueryNode> conjunction(std::string_view name, const json::value& argument, const std::string& path,
                                       int depth) {
    if (!argument.is_array() || argument.get_array().empty()) return std::nullopt;
    const std::string inside = name == "$all" ? with_part(path, "[]") : path;
    // `$all: [[…]]` may mean the array itself.
    if (name == "$all" && argument.get_array().size() == 1 && argument.get_array().front().is_array()) {
      return exists(path);
    }
    std::vector<QueryNode> parts;
    for (const auto& one : argument.get_array()) {
      auto part = name == "$all" ? equal(one, inside, depth) : translate(one, inside, depth);
      if (part) parts.push_back(*std::move(part));
    }
    if (parts.empty()) return std::nullopt;
    return joined(std::move(parts), Occur::must);
  }

  std::optional<QueryNode> disjunction(const json::value& argument, const std::string& path, int depth) {
    if (!argument.is_array() || argument.get_array().empty()) return std::nullopt;
    std::vector<QueryNode> parts;
    for (const auto& one : argument.get_array()) {
      auto part = translate(one, path, depth);
      if (!part) return std::nullopt;  // one side may match any document
      parts.push_back(*std::move(part));
    }
    return joined(std::move(parts), Occur::should);
  }

  std::optional<QueryNode> text(const json::value& argument, const std::string& path) {
    if (!query::is_text(argument)) {
      error = Error{ErrorCode::bad_request, "Bad argument for operator $text: " + serialize_json(argument), "bad_arg"};
      return std::nullopt;
    }
    auto parsed = parse_query(argument.get_string());
    if (!parsed) {
      error = std::move(parsed).error();
      error->word = "text_search_error";
      return std::nullopt;
    }
    QueryNode node = *std::move(parsed);
    const std::string target = path.empty() ? std::string(text_default_field) : path + ":string";
    columns.push_back(target);
    retarget(node, target);
    return node;
  }

  static void retarget(QueryNode& node, const std::string& target) {
    if (node.field == default_field) node.field = target;
    for (auto& clause : node.clauses) retarget(clause.node, target);
  }

  std::optional<QueryNode> equal(const json::value& value, const std::string& path, int depth) {
    if (path.empty()) return std::nullopt;
    if (value.is_null()) return exact(path + ":null", "true");
    if (is_large(value)) return number_range(use(path, "number"), nearest(value), nearest(value), true, true);
    if (value.is_string()) return exact(use(path, "string"), text_term(value.get_string()));
    if (value.is_bool()) return exact(use(path, "boolean"), value.get_bool() ? "true" : "false");
    if (value.is_number()) return number_range(use(path, "number"), value, value, true, true);
    if (value.is_object()) return value.get_object().empty() ? std::nullopt : translate(value, path, depth);
    std::vector<QueryNode> parts;
    for (const auto& element : value.get_array()) {
      auto part = equal(element, with_part(path, "[]"), depth + 1);
      if (!part) return std::nullopt;
      parts.push_back(*std::move(part));
    }
    if (parts.empty()) return std::nullopt;
    return joined(std::move(parts), Occur::must);
  }

  std::optional<QueryNode> any_of(const json::value& argument, const std::string& path) {
    if (!argument.is_array() || argument.get_array().empty() || argument.get_array().size() > query_clauses_max / 2) {
      return std::nullopt;
    }
    std::vector<QueryNode> parts;
    for (const auto& value : argument.get_array()) {
      if (value.is_object() || value.is_array()) return exists(path);
      auto plain = equal(value, path, 0);
      const auto known = columns;
      auto element = equal(value, with_part(path, "[]"), 0);
      columns = known;
      if (!plain || !element) return std::nullopt;
      parts.push_back(*std::move(plain));
      parts.push_back(*std::move(element));
    }
    return joined(std::move(parts), Occur::should);
  }

  std::optional<QueryNode> range(std::string_view name, const json::value& argument, const std::string& path) {
    if (path.empty()) return std::nullopt;
    const bool below = name.starts_with("$l");
    // The index stores the nearest double, which may be the same for another integer.
    const bool inclusive = name.ends_with('e') || is_large(argument);
    const json::value bound = is_large(argument) ? nearest(argument) : argument;
    if (bound.is_number()) {
      return below ? number_range(use(path, "number"), nullptr, bound, true, inclusive)
                   : number_range(use(path, "number"), bound, nullptr, inclusive, true);
    }
    // Lucene orders strings differently from the collation, so any string may match.
    if (argument.is_string()) return exact(std::string(text_names_field), use(path, "string"));
    if (argument.is_bool()) return exact(std::string(text_names_field), use(path, "boolean"));
    return exists(path);
  }

  // A bound that is null is open.
  static QueryNode number_range(std::string field, const json::value& lower, const json::value& upper,
                                bool lower_inclusive, bool upper_inclusive) {
    QueryNode node;
    node.kind = Kind::range;
    node.field = std::move(field);
    if (!lower.is_null()) node.lower = number_text(lower.to_number<double>());
    if (!upper.is_null()) node.upper = number_text(upper.to_number<double>());
    node.lower_inclusive = lower_inclusive;
    node.upper_inclusive = upper_inclusive;
    // An open bound still admits numbers only.
    if (!node.lower) node.lower = "-Infinity";
    if (!node.upper) node.upper = "Infinity";
    return node;
  }

  QueryNode exists(const std::string& path) const {
    std::vector<QueryNode> parts;
    parts.push_back(exact(std::string(text_names_field), path + ":", Kind::prefix));
    parts.push_back(exact(std::string(text_names_field), path + ".", Kind::prefix));
    return joined(std::move(parts), Occur::should);
  }

  std::string use(const std::string& path, std::string_view type) {
    std::string name = path + ':' + std::string(type);
    columns.push_back(name);
    return name;
  }

  static std::string with_part(const std::string& path, std::string_view part) {
    std::string name = path;
    append_text_part(name, part);
    return name;
  }
};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("+-&|!(){}[]^\"~*?:\\/ ").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

void show(const QueryNode& node, std::string& out) {
  const std::string field = escaped(node.field) + ':';
  switch (node.kind) {
    case Kind::everything:
      out += "*:*";
      break;
    case Kind::words:
    case Kind::phrase: {
      std::string quoted;
      for (const char c : node.text) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
      }
      out += node.exact || node.kind == Kind::phrase ? field + '"' + quoted + '"' : field + escaped(node.text);
      break;
    }
    case Kind::prefix:
      out += field + escaped(node.text) + '*';
      break;
    case Kind::wildcard:
      out += field + node.text;
      break;
    case Kind::regex:
      out += field + '/' + node.text + '/';
      break;
    case Kind::fuzzy:
      out += field + escaped(node.text) + '~';
      break;
    case Kind::range:
      out += field + (node.lower_inclusive ? '[' : '{') + node.lower.value_or("*") + " TO " + node.upper.value_or("*") +
             (node.upper_inclusive ? ']' : '}');
      break;
    case Kind::clauses: {
      out += '(';
      bool first = true;
      for (const auto& clause : node.clauses) {
        if (!first) out += clause.occur == Occur::should ? " OR " : " AND ";
        if (clause.occur == Occur::must_not) out += "NOT ";
        first = false;
        show(clause.node, out);
      }
      out += ')';
      break;
    }
  }
}

std::size_t count_nodes(const QueryNode& node) {
  std::size_t count = 1;
  for (const auto& clause : node.clauses) count += count_nodes(clause.node);
  return count;
}

bool is_trivial(const json::value& value) {
  return value.is_object() && value.get_object().empty();
}

// Simplifies `$and` and `$or` if some of their sides hold for every document. True: nothing is left.
bool drop_trivial(std::string_view name, json::value& sides) {
  if ((name != "$and" && name != "$or") || !sides.is_array()) return false;
  auto& list = sides.get_array();
  if (name == "$or") return std::ranges::any_of(list, is_trivial);
  list.erase(std::remove_if(list.begin(), list.end(), is_trivial), list.end());
  return list.empty();
}

// True if something was removed from `value`.
bool take_text_out(json::value& value, int depth) {
  if (depth > selector_depth_max) return false;
  bool taken = false;
  if (value.is_object()) {
    auto& members = value.get_object();
    for (auto member = members.begin(); member != members.end();) {
      if (member->key() == "$text" || member->key() == "$default") {
        member = members.stable_erase(member);
        taken = true;
        continue;
      }
      const bool inside = take_text_out(member->value(), depth + 1);
      taken = taken || inside;
      if (inside && drop_trivial(member->key(), member->value())) {
        member = members.stable_erase(member);
        continue;
      }
      // `{"name":{"$text":"x"}}` has no condition that can be tested on a document.
      if (inside && !member->key().starts_with('$') && member->value().is_object() &&
          member->value().get_object().empty()) {
        member = members.stable_erase(member);
      } else {
        ++member;
      }
    }
  } else if (value.is_array()) {
    for (auto& element : value.get_array()) taken = take_text_out(element, depth + 1) || taken;
  }
  return taken;
}

bool has_text(const json::value& value, int depth) {
  if (depth > selector_depth_max) return false;
  if (value.is_object()) {
    return std::ranges::any_of(value.get_object(), [&](const json::key_value_pair& member) {
      return member.key() == "$text" || has_text(member.value(), depth + 1);
    });
  }
  return value.is_array() && std::ranges::any_of(value.get_array(), [&](const json::value& element) {
           return has_text(element, depth + 1);
         });
}

}  // namespace

std::optional<json::value> without_text(const json::value& selector) {
  if (!has_text(selector, 0)) return std::nullopt;
  json::value copy = selector;
  if (!take_text_out(copy, 0)) return std::nullopt;
  return copy;
}

Expected<std::optional<TextQuery>> text_query_of(const json::value& selector) {
  Translator translator;
  auto node = translator.translate(selector, std::string(), 0);
  if (translator.error) return std::unexpected(*std::move(translator.error));
  if (!node || count_nodes(*node) > query_nodes_max) return std::nullopt;
  TextQuery made;
  show(*node, made.text);
  made.query = *std::move(node);
  made.columns = std::move(translator.columns);
  std::ranges::sort(made.columns);
  made.columns.erase(std::unique(made.columns.begin(), made.columns.end()), made.columns.end());
  return made;
}

}  // namespace octavo::query::search

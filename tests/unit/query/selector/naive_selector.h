#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include <boost/json.hpp>

#include "query/collation/collation.h"

/// A selector evaluated the slow and obvious way over boost::json trees: normalised in three passes, then matched by
/// walking the normalised JSON. The model the real one is compared with.
namespace naive {

namespace json = boost::json;
using octavo::query::compare;
using octavo::query::compare_raw;

inline json::object single(std::string_view key, json::value value) {
  json::object object;
  object.emplace(json::string_view(key.data(), key.size()), std::move(value));
  return object;
}

inline std::string key_of(const json::value& selector) {
  return std::string(selector.get_object().begin()->key());
}
inline const json::value& argument_of(const json::value& selector) {
  return selector.get_object().begin()->value();
}

inline bool takes_list(const std::string& op) {
  return op == "$and" || op == "$or" || op == "$nor";
}
inline bool takes_selector(const std::string& op) {
  return op == "$not" || op == "$elemMatch" || op == "$allMatch" || op == "$keyMapMatch";
}

inline json::value explicit_operators(const json::value& selector) {
  if (!selector.is_object() || selector.get_object().empty()) return single("$eq", selector);
  if (selector.get_object().size() > 1) {
    json::array parts;
    for (const auto& member : selector.get_object()) {
      parts.push_back(explicit_operators(single(member.key(), member.value())));
    }
    return single("$and", parts);
  }
  const std::string op = key_of(selector);
  if (takes_list(op)) {
    json::array parts;
    for (const auto& part : argument_of(selector).as_array()) parts.push_back(explicit_operators(part));
    return single(op, parts);
  }
  if (op.starts_with('$') && !takes_selector(op)) return selector;
  return single(op, explicit_operators(argument_of(selector)));
}

inline json::value fields_down(const json::value& selector, const std::string& path) {
  const std::string op = key_of(selector);
  const json::value& argument = argument_of(selector);
  if (takes_list(op)) {
    json::array parts;
    for (const auto& part : argument.get_array()) parts.push_back(fields_down(part, path));
    return single(op, parts);
  }
  if (op == "$not") return single(op, fields_down(argument, path));
  if (takes_selector(op)) return single(path, single(op, fields_down(argument, "")));
  if (op.starts_with('$')) return single(path, selector);
  return fields_down(argument, path.empty() ? op : path + "." + op);
}

inline json::value negations_down(const json::value& selector);

inline json::value negate(const json::value& selector) {
  const std::string op = key_of(selector);
  const json::value& argument = argument_of(selector);
  const auto each = [&](auto function) {
    json::array parts;
    for (const auto& part : argument.get_array()) parts.push_back(function(part));
    return parts;
  };
  if (op == "$not") return negations_down(argument);
  if (op == "$nor") return single("$or", each(negations_down));
  if (op == "$and") return single("$or", each(negate));
  if (op == "$or") return single("$and", each(negate));
  if (op == "$lt") return single("$gte", argument);
  if (op == "$lte") return single("$gt", argument);
  if (op == "$eq") return single("$ne", argument);
  if (op == "$ne") return single("$eq", argument);
  if (op == "$gte") return single("$lt", argument);
  if (op == "$gt") return single("$lte", argument);
  if (op == "$in") return single("$nin", argument);
  if (op == "$nin") return single("$in", argument);
  if (op == "$exists") return single("$exists", !argument.get_bool());
  if (op.starts_with('$')) return single("$not", selector);
  return single(op, negate(argument));
}

inline json::value negations_down(const json::value& selector) {
  const std::string op = key_of(selector);
  const json::value& argument = argument_of(selector);
  if (op == "$not") return negate(argument);
  if (op != "$nor" && op != "$and" && op != "$or") return selector;
  json::array parts;
  for (const auto& part : argument.get_array()) parts.push_back(op == "$nor" ? negate(part) : negations_down(part));
  return single(op == "$or" ? "$or" : "$and", parts);
}

inline json::value normalized(const json::value& selector) {
  if (selector.get_object().empty()) return selector;
  return negations_down(fields_down(explicit_operators(selector), ""));
}

enum class Finding { found, missing, bad };

inline Finding find(const json::value& from, std::string path, const json::value*& found) {
  found = &from;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::string name = path.substr(0, dot);
    path = dot == std::string::npos ? "" : path.substr(dot + 1);
    if (found->is_object()) {
      const json::value* next = found->get_object().if_contains(name);
      if (next == nullptr) return Finding::missing;
      found = next;
    } else if (found->is_array() && name.find_first_not_of("0123456789") == std::string::npos &&
               std::stoul(name) < found->get_array().size()) {
      found = &found->get_array()[std::stoul(name)];
    } else {
      return Finding::bad;
    }
  }
  return Finding::found;
}

inline std::string type_of(const json::value& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "boolean";
  if (value.is_number()) return "number";
  if (value.is_string()) return "string";
  return value.is_array() ? "array" : "object";
}

inline bool strictly_equal(const json::value& a, const json::value& b) {
  return json::serialize(a) == json::serialize(b);
}

inline bool matches(const json::value& selector, const json::value& value, bool raw) {
  const std::string op = key_of(selector);
  const json::value& argument = argument_of(selector);
  const auto order = [&](const json::value& a, const json::value& b) {
    return raw ? compare_raw(a, b) : compare(a, b);
  };
  const auto inner = [&](const json::value& part) { return matches(part, value, raw); };
  if (op == "$and") return std::ranges::all_of(argument.get_array(), inner);
  if (op == "$or") return argument.get_array().empty() || std::ranges::any_of(argument.get_array(), inner);
  if (op == "$nor") return std::ranges::none_of(argument.get_array(), inner);
  if (op == "$not") return !inner(argument);
  if (op.empty()) return inner(argument);
  if (op == "$lt") return order(value, argument) < 0;
  if (op == "$lte") return order(value, argument) <= 0;
  if (op == "$eq") return order(value, argument) == 0;
  if (op == "$ne") return order(value, argument) != 0;
  if (op == "$gte") return order(value, argument) >= 0;
  if (op == "$gt") return order(value, argument) > 0;
  if (op == "$in" || op == "$nin") {
    const json::array values = value.is_array() ? value.get_array() : json::array{value};
    bool is_in = false;
    for (const auto& one : values) {
      for (const auto& wanted : argument.get_array()) is_in = is_in || order(one, wanted) == 0;
    }
    return is_in == (op == "$in");
  }
  if (op == "$exists") return argument.get_bool();
  if (op == "$type") return type_of(value) == argument.get_string();
  if (op == "$size") return value.is_array() && json::value(value.get_array().size()) == argument;
  if (op == "$mod")
    return value.is_int64() && value.get_int64() % argument.at(0).as_int64() == argument.at(1).as_int64();
  if (op == "$beginsWith") return value.is_string() && value.get_string().starts_with(argument.get_string());
  if (op == "$all") {
    if (!value.is_array() || argument.get_array().empty()) return false;
    if (argument.get_array().size() == 1 && strictly_equal(argument.at(0), value)) return true;
    return std::ranges::all_of(argument.get_array(), [&](const json::value& wanted) {
      return std::ranges::any_of(value.get_array(),
                                 [&](const json::value& one) { return strictly_equal(one, wanted); });
    });
  }
  if (op == "$elemMatch") {
    return value.is_array() &&
           std::ranges::any_of(value.get_array(), [&](const json::value& one) { return matches(argument, one, raw); });
  }
  if (op == "$allMatch") {
    return value.is_array() && !value.get_array().empty() &&
           std::ranges::all_of(value.get_array(), [&](const json::value& one) { return matches(argument, one, raw); });
  }
  if (op == "$keyMapMatch") {
    return value.is_object() && std::ranges::any_of(value.get_object(), [&](const auto& member) {
             return matches(argument, json::value(member.key()), raw);
           });
  }
  if (op.starts_with('$')) throw std::logic_error("no such operator: " + op);
  const json::value* found = nullptr;
  switch (find(value, op, found)) {
    case Finding::found:
      return matches(argument, *found, raw || op == "_id");
    case Finding::missing:
      return strictly_equal(argument, single("$exists", false));
    case Finding::bad:
      return false;
  }
  return false;
}

}  // namespace naive

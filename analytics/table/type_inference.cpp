#include "analytics/table/type_inference.h"

#include <algorithm>

#include "base/ascii_case.h"

namespace octavo::analytics {

namespace {

bool is_number(ValueKind kind) {
  return kind == ValueKind::integer || kind == ValueKind::number;
}

}  // namespace

bool TypeInference::is_possible_name(std::string_view name) {
  return !name.empty() && name.size() <= name_bytes_max && !name.contains('\0');
}

// `depth`: of the arrays and objects around the value.
void TypeInference::learn_place(query::JsonCursor& cursor, ValueType& type, std::size_t depth, bool is_element) {
  if (mode_ == InferenceMode::well_defined) return learn_value(cursor, type, depth, is_element);
  if (cursor.front() == 'n' || type.kind == ValueKind::json) {
    cursor.skip();
    return;
  }
  const std::string_view name = variant_name(kind_of_next(cursor));
  auto variant = type.find(name, 0);
  if (!variant && nodes_left_ > 0) {
    --nodes_left_;
    type.kind = ValueKind::variants;
    type.names.emplace_back(name);
    type.children.emplace_back();
    variant = type.children.size() - 1;
  }
  if (variant) return learn_value(cursor, type.children[*variant], depth, false);
  type = ValueType::of(ValueKind::json);
  cursor.skip();
}

void TypeInference::learn_value(query::JsonCursor& cursor, ValueType& type, std::size_t depth, bool is_element) {
  const char first = cursor.front();
  const bool is_container = first == '{' || first == '[';
  const ValueKind wanted = first == '{' ? ValueKind::object : ValueKind::list;
  if (is_container && type.kind == ValueKind::none && depth == depth_max) type.kind = ValueKind::json;
  if (is_container && type.kind == ValueKind::none) {
    type.kind = wanted;
    if (wanted == ValueKind::list) {
      // The elements are a node.
      if (nodes_left_ == 0) {
        type.kind = ValueKind::json;
      } else {
        --nodes_left_;
        type.children.resize(1);
      }
    }
  }
  if (is_container && type.kind == wanted) {
    return wanted == ValueKind::object ? learn_object(cursor, type, depth) : learn_list(cursor, type, depth);
  }
  const std::string_view raw = cursor.skip();
  if (raw.empty() || type.kind == ValueKind::json) return;
  const ValueKind kind = kind_of_json(raw);
  if (kind == ValueKind::none || kind == type.kind) return;
  if (type.kind == ValueKind::none) {
    type.kind = kind;
  } else if (is_number(kind) && is_number(type.kind)) {
    type.kind = ValueKind::number;
  } else if (is_element || (type.kind == ValueKind::object && type.names.empty())) {
    type = ValueType::of(ValueKind::json);
  }
}

void TypeInference::learn_object(query::JsonCursor& cursor, ValueType& type, std::size_t depth) {
  std::size_t expected = 0;
  for (bool more = cursor.enter(); more; more = cursor.next()) {
    const std::string_view name = cursor.name();
    if (cursor.front() == 'n' || type.kind == ValueKind::json) {
      cursor.skip();
      continue;
    }
    auto member = type.find(name, expected);
    if (!member && add_member(type, name)) member = type.children.size() - 1;
    if (member) {
      expected = *member + 1;
      learn_place(cursor, type.children[*member], depth + 1, false);
    } else {
      type = ValueType::of(ValueKind::json);
      cursor.skip();
    }
  }
}

bool TypeInference::add_member(ValueType& object, std::string_view name) {
  const bool is_same =
      std::ranges::any_of(object.names, [&](const std::string& other) { return equals_ignoring_case(other, name); });
  if (is_same || !is_possible_name(name) || object.names.size() == members_max || nodes_left_ == 0) return false;
  --nodes_left_;
  object.names.emplace_back(name);
  object.children.emplace_back();
  return true;
}

void TypeInference::learn_list(query::JsonCursor& cursor, ValueType& type, std::size_t depth) {
  for (bool more = cursor.enter(); more; more = cursor.next()) {
    learn_place(cursor, type.children.front(), depth + 1, true);
  }
}

}  // namespace octavo::analytics

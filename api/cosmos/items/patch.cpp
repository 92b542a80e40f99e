#include "api/cosmos/items/patch.h"

#include <array>
#include <charconv>
#include <cmath>

#include "api/cosmos/items/patch_condition.h"
#include "api/models/item.h"
#include "base/json_writer.h"
#include "query/index/raw_field.h"
#include "query/json/normalize.h"
#include "query/json/property_path.h"
#include "query/json/split.h"

namespace octavo::api::cosmos {

namespace {

using PatchKind = PatchOperation::Kind;

constexpr std::size_t patch_operations_max = 10;  // Azure Cosmos DB service limits
constexpr std::size_t patch_depth_max = 128;

std::unexpected<Error> refused(std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason));
}

std::optional<std::size_t> array_index(std::string_view text) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc{} || end != text.data() + text.size() || (text.size() > 1 && text.front() == '0')) {
    return std::nullopt;
  }
  return index;
}

Expected<std::vector<std::string>> parse_pointer(std::string_view text) {
  if (!text.starts_with('/') || text.size() == 1) {
    return refused("The path '" + std::string(text) + "' must begin with '/' and name a property.");
  }
  std::vector<std::string> parts;
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::size_t end = std::min(text.find('/'), text.size());
    std::string part;
    for (std::size_t i = 0; i < end; ++i) {
      const bool escape = text[i] == '~' && i + 1 < end && (text[i + 1] == '0' || text[i + 1] == '1');
      part.push_back(!escape ? text[i] : text[i + 1] == '0' ? '~' : '/');
      if (escape) ++i;
    }
    if (part.empty()) return refused("A path cannot have empty parts.");
    parts.push_back(std::move(part));
    text.remove_prefix(end);
  }
  if (parts.size() > patch_depth_max) return refused("The path is too long.");
  return parts;
}

Expected<PatchKind> kind_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, PatchKind>, 6> kinds{{{"add", PatchKind::add},
                                                                         {"set", PatchKind::set},
                                                                         {"replace", PatchKind::replace},
                                                                         {"remove", PatchKind::remove},
                                                                         {"incr", PatchKind::increment},
                                                                         {"move", PatchKind::move}}};
  for (const auto& [known, kind] : kinds) {
    if (known == name) return kind;
  }
  return refused("'op' must be one of add, set, replace, remove, incr and move.");
}

bool is_number(std::string_view raw) {
  return !raw.empty() && (raw.front() == '-' || (raw.front() >= '0' && raw.front() <= '9'));
}

Expected<PatchOperation> parse_operation(std::string_view json) {
  OCTAVO_TRY(const auto members, query::split_object(json));
  const auto text_of_member = [&](std::string_view name) -> Expected<std::string> {
    const auto raw = query::member_value(members, name);
    if (raw.empty() || raw.front() != '"') return refused("'" + std::string(name) + "' must be a string.");
    return query::decode_json_string(raw);
  };
  PatchOperation operation;
  OCTAVO_TRY(const auto name, text_of_member("op"));
  OCTAVO_TRY(operation.kind, kind_of(name));
  OCTAVO_TRY(const auto path, text_of_member("path"));
  OCTAVO_TRY(operation.path, parse_pointer(path));
  if (is_reserved_property(operation.path.front())) {
    return refused("The property '" + operation.path.front() + "' cannot be patched.");
  }
  if (operation.kind == PatchKind::remove) return operation;
  if (operation.kind == PatchKind::move) {
    OCTAVO_TRY(const auto from, text_of_member("from"));
    OCTAVO_TRY(operation.from, parse_pointer(from));
    return operation;
  }
  const auto raw = query::member_value(members, "value");
  if (raw.empty()) return refused("'value' is missing.");
  OCTAVO_TRY_VOID(query::normalize_value(raw, operation.value));
  if (operation.kind == PatchKind::increment && !is_number(operation.value)) {
    return refused("The value of incr must be a number.");
  }
  return operation;
}

Expected<std::string> sum_of(std::string_view a, std::string_view b) {
  const auto whole = [](std::string_view text) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
  };
  std::string sum;
  const auto x = whole(a);
  const auto y = whole(b);
  std::int64_t exact = 0;
  if (x && y && !__builtin_add_overflow(*x, *y, &exact)) {
    append_json_number(sum, exact);
    return sum;
  }
  double p = 0;
  double q = 0;
  const bool known = std::from_chars(a.data(), a.data() + a.size(), p).ec == std::errc{} &&
                     std::from_chars(b.data(), b.data() + b.size(), q).ec == std::errc{};
  if (!known || !std::isfinite(p + q)) return refused("The sum is too large for a number.");
  char digits[32];
  sum.assign(digits, std::to_chars(digits, digits + sizeof digits, p + q).ptr);
  return sum;
}

// The new value of a property or element; `before` is empty if it does not exist.
Expected<std::string> value_after(const PatchOperation& operation, std::string_view before) {
  switch (operation.kind) {
    case PatchKind::add:
    case PatchKind::set:
    case PatchKind::move:
      return operation.value;
    case PatchKind::replace:
      if (before.empty()) return refused("there is nothing at the path to replace.");
      return operation.value;
    case PatchKind::remove:
      if (before.empty()) return refused("there is nothing at the path to remove.");
      return std::string();
    case PatchKind::increment:
      if (before.empty()) return operation.value;
      if (!is_number(before)) return refused("the value at the path is not a number.");
      return sum_of(before, operation.value);
  }
  return refused("unknown operation.");
}

Expected<std::string> changed(const PatchOperation& operation, std::string_view json, std::size_t depth);

Expected<std::string> changed_object(const PatchOperation& operation, std::string_view json, std::size_t depth) {
  OCTAVO_TRY(const auto members, query::split_object(json));
  const std::string& name = operation.path[depth];
  const bool last = depth + 1 == operation.path.size();
  std::string out = "{";
  bool found = false;
  const auto append = [&](std::string_view key, std::string_view value) {
    append_json_key(out, key);
    out += value;
  };
  for (const auto& member : members) {
    if (member.name != name) {
      append(member.name, member.raw);
      continue;
    }
    found = true;
    OCTAVO_TRY(const auto value, last ? value_after(operation, member.raw) : changed(operation, member.raw, depth + 1));
    if (!value.empty()) append(name, value);
  }
  if (!found) {
    if (!last) return refused("the path leads through '" + name + "', which does not exist.");
    OCTAVO_TRY(const auto value, value_after(operation, {}));
    append(name, value);
  }
  out += '}';
  return out;
}

Expected<std::string> changed_array(const PatchOperation& operation, std::string_view json, std::size_t depth) {
  OCTAVO_TRY(const auto elements, query::split_array(json));
  const std::string& name = operation.path[depth];
  const bool last = depth + 1 == operation.path.size();
  const bool inserts = last && (operation.kind == PatchKind::add || operation.kind == PatchKind::move);
  const auto index = name == "-" && last ? std::optional(elements.size()) : array_index(name);
  const bool appends = last && (inserts || operation.kind == PatchKind::set);
  if (!index || *index > elements.size() || (*index == elements.size() && !appends)) {
    return refused("'" + name + "' is not an index of the array.");
  }
  std::string out = "[";
  const auto append = [&](std::string_view value) {
    if (out.size() > 1) out += ',';
    out += value;
  };
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i == *index && inserts) append(operation.value);
    if (i != *index || inserts) {
      append(elements[i]);
      continue;
    }
    OCTAVO_TRY(const auto value,
               last ? value_after(operation, elements[i]) : changed(operation, elements[i], depth + 1));
    if (!value.empty()) append(value);
  }
  if (*index == elements.size()) append(operation.value);
  out += ']';
  return out;
}

Expected<std::string> changed(const PatchOperation& operation, std::string_view json, std::size_t depth) {
  if (json.starts_with('{')) return changed_object(operation, json, depth);
  if (json.starts_with('[')) return changed_array(operation, json, depth);
  return refused("the path leads through a value that is not an object or array.");
}

Expected<std::string> applied(const PatchOperation& operation, std::string_view body) {
  if (operation.kind != PatchKind::move) return changed(operation, body, 0);
  const auto value = query::find_raw_field(body, query::property_field_path(operation.from));
  if (value.empty()) return refused("there is nothing at 'from' to move.");
  if (operation.path.size() > operation.from.size() &&
      std::equal(operation.from.begin(), operation.from.end(), operation.path.begin())) {
    return refused("a value cannot be moved into itself.");
  }
  PatchOperation put = operation;
  put.value = value;
  OCTAVO_TRY(const auto without, changed({PatchKind::remove, operation.from, {}, {}}, body, 0));
  return changed(put, without, 0);
}

std::unexpected<Error> of_operation(std::size_t index, const Error& error) {
  return refused("For Operation(" + std::to_string(index + 1) + "): " + error.reason);
}

}  // namespace

Expected<Patch> Patch::parse(std::string_view json, query::sql::ComputedProperties::Ptr computed) {
  Patch patch;
  std::string_view list = json;
  const std::size_t start = json.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && json[start] == '{') {
    OCTAVO_TRY(const auto members, query::split_object(json));
    list = query::member_value(members, "operations");
    if (list.empty()) return refused("A patch needs 'operations'.");
    if (const auto raw = query::member_value(members, "condition"); !raw.empty() && raw != "null") {
      if (raw.front() != '"') return refused("'condition' must be a string such as \"from c where c.state = 1\".");
      OCTAVO_TRY(const std::string condition, query::decode_json_string(raw));
      OCTAVO_TRY(patch.condition, parse_patch_condition(condition, std::move(computed)));
    }
  }
  OCTAVO_TRY(const auto operations, query::split_array(list));
  if (operations.empty()) return refused("A patch needs at least one operation.");
  if (operations.size() > patch_operations_max) {
    return refused("The number of patch operations can't exceed '10'.");
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    auto operation = parse_operation(operations[i]);
    if (!operation) return of_operation(i, operation.error());
    patch.operations.push_back(std::move(*operation));
  }
  return patch;
}

Expected<std::string> Patch::apply(std::string_view body) const {
  std::string current(body);
  for (std::size_t i = 0; i < operations.size(); ++i) {
    auto next = applied(operations[i], current);
    if (!next) return of_operation(i, next.error());
    current = std::move(*next);
  }
  return current;
}

}  // namespace octavo::api::cosmos

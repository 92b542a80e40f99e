#include "query/sql/evaluate/value.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "base/json_writer.h"
#include "query/index/raw_field.h"
#include "query/json/normalize.h"
#include "query/json/number.h"
#include "query/sql/syntax/syntax_text.h"

namespace octavo::query::sql {

namespace {

// Decodes the inside of a JSON string; false beyond the arena's limit.
bool decode_string(std::string_view raw, Arena& arena, std::string_view& decoded) {
  if (raw.find('\\') == std::string_view::npos) {
    decoded = raw;
    return true;
  }
  std::string text;
  append_decoded_string(raw, text);
  auto* buffer = arena.allocate_array<char>(text.size());
  if (!buffer) return false;
  std::ranges::copy(text, buffer);
  decoded = {buffer, text.size()};
  return true;
}

bool raw_name_is(std::string_view raw, std::string_view name) {
  if (raw.find('\\') == std::string_view::npos) return raw == name;
  std::string decoded;
  append_decoded_string(raw, decoded);
  return decoded == name;
}

}  // namespace

Value Value::read(std::string_view json, Arena& arena) {
  if (json.empty()) return {};
  switch (json[0]) {
    case 'n':
      return null();
    case 't':
      return of(true);
    case 'f':
      return of(false);
    case '"': {
      std::string_view decoded;
      if (!decode_string(json.substr(1, json.size() - 2), arena, decoded)) return {};
      return of(decoded);
    }
    case '[':
    case '{': {
      Value result(json[0] == '[' ? Type::array : Type::object);
      result.spelled_ = true;
      result.text_ = json.data();
      result.size_ = static_cast<std::uint32_t>(json.size());
      return result;
    }
    default: {
      Value result = of(nearest_double(json));
      result.spelled_ = true;
      result.spelling_ = json.data();
      result.size_ = static_cast<std::uint32_t>(json.size());
      return result;
    }
  }
}

std::optional<std::int64_t> Value::integer() const {
  constexpr double bound = 9223372036854775808.0;  // 2^63, and also the double nearest to the largest integer
  if (type_ != Type::number || number_ != std::floor(number_) || std::abs(number_) > bound) return std::nullopt;
  return number_ == bound ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(number_);
}

Value Value::member(std::string_view name, Arena& arena) const {
  if (type_ != Type::object) return {};
  if (!spelled_) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (members_[i].name == name) return members_[i].value;
    }
    return {};
  }
  const std::string_view json = text();
  std::size_t at = 1;
  while (at < json.size() && json[at] == '"') {
    const std::size_t name_end = skip_raw_value(json, at);
    const std::string_view raw = json.substr(at + 1, name_end - at - 2);
    const std::size_t end = skip_raw_value(json, name_end + 1);
    if (raw_name_is(raw, name)) return read(json.substr(name_end + 1, end - name_end - 1), arena);
    at = end + 1;
  }
  return {};
}

Value Value::element(std::uint64_t index, Arena& arena) const {
  if (type_ != Type::array) return {};
  if (!spelled_) return index < size_ ? items_[index] : Value();
  const std::string_view json = text();
  if (json.size() <= 2) return {};
  std::size_t at = 1;
  while (at < json.size()) {
    const std::size_t end = skip_raw_value(json, at);
    if (index-- == 0) return read(json.substr(at, end - at), arena);
    if (end >= json.size() || json[end] != ',') break;
    at = end + 1;
  }
  return {};
}

std::size_t Value::count() const {
  if (!spelled_) return size_;
  const std::string_view json = text();
  if (json.size() <= 2) return 0;
  std::size_t found = 0;
  for (std::size_t at = 1; at < json.size(); ++found) {
    if (type_ == Type::object) at = skip_raw_value(json, at) + 1;
    at = skip_raw_value(json, at) + 1;
  }
  return found;
}

std::size_t Value::bytes() const {
  switch (type_) {
    case Type::string:
      return size_;
    case Type::array:
      return spelled_ ? size_ : size_ * sizeof(Value);
    case Type::object:
      return spelled_ ? size_ : size_ * sizeof(Member);
    default:
      return 0;
  }
}

bool Value::append_json(std::string& out, std::size_t size_max) const {
  switch (type_) {
    case Type::undefined:
    case Type::null:
      out += "null";
      break;
    case Type::boolean:
      out += boolean_ ? "true" : "false";
      break;
    case Type::number:
      if (spelled_) {
        out.append(spelling_, size_);
      } else if (std::isfinite(number_)) {
        append_number_text(out, number_);
      } else {
        out += '"';
        append_number_text(out, number_);
        out += '"';
      }
      break;
    case Type::string:
      append_json_string(out, string());
      break;
    case Type::array:
      if (spelled_) {
        out += text();
        break;
      }
      out += '[';
      for (std::size_t i = 0; i < size_; ++i) {
        if (items_[i].is_undefined()) continue;
        if (out.back() != '[') out += ',';
        if (!items_[i].append_json(out, size_max)) return false;
      }
      out += ']';
      break;
    case Type::object: {
      if (spelled_) {
        out += text();
        break;
      }
      out += '{';
      bool first = true;
      for (std::size_t i = 0; i < size_; ++i) {
        if (members_[i].value.is_undefined()) continue;
        if (!first) out += ',';
        first = false;
        append_json_string(out, members_[i].name);
        out += ':';
        if (!members_[i].value.append_json(out, size_max)) return false;
      }
      out += '}';
      break;
    }
  }
  return out.size() <= size_max;
}

// --- elements ---

Elements::Elements(const Value& container) : container_(container) {
  if (container_.is_text()) position_ = 1;
}

bool Elements::next_raw(std::string_view& name, std::string_view& value, Arena* arena) {
  const std::string_view json = container_.text();
  if (position_ + 1 >= json.size()) return false;
  std::size_t at = position_;
  if (container_.is_object()) {
    const std::size_t name_end = skip_raw_value(json, at);
    name = json.substr(at + 1, name_end - at - 2);
    if (arena && !decode_string(name, *arena, name)) return false;
    at = name_end + 1;
  }
  const std::size_t end = skip_raw_value(json, at);
  value = json.substr(at, end - at);
  position_ = end + 1;
  return true;
}

bool Elements::next(std::string_view& name, Value& value, Arena& arena) {
  if (container_.is_text()) {
    std::string_view raw;
    if (!next_raw(name, raw, &arena)) return false;
    value = Value::read(raw, arena);
    return true;
  }
  if (!container_.is_array() && !container_.is_object()) return false;
  while (position_ < container_.built_size()) {
    const std::size_t at = position_++;
    if (container_.is_array()) {
      value = container_.items()[at];
    } else {
      name = container_.members()[at].name;
      value = container_.members()[at].value;
    }
    if (!value.is_undefined()) return true;
  }
  return false;
}

bool Elements::next(Value& value, Arena& arena) {
  std::string_view name;
  return next(name, value, arena);
}

// --- order and equality ---

namespace {

void append_string_key(std::string& out, std::string_view text) {
  out += '\x06';
  std::size_t run = 0;
  for (std::size_t zero = text.find('\0'); zero != std::string_view::npos; zero = text.find('\0', run)) {
    out.append(text, run, zero + 1 - run);
    out += '\xFF';
    run = zero + 1;
  }
  out.append(text, run);
  out.append(2, '\0');
}

int sign(int value) {
  return value < 0 ? -1 : value > 0 ? 1 : 0;
}

}  // namespace

std::optional<int> compare_scalars(const Value& a, const Value& b) {
  if (a.type() != b.type()) return std::nullopt;
  switch (a.type()) {
    case Type::null:
      return 0;
    case Type::boolean:
      return static_cast<int>(a.boolean()) - static_cast<int>(b.boolean());
    case Type::number:
      if (std::isnan(a.number()) || std::isnan(b.number())) return std::nullopt;
      return a.number() < b.number() ? -1 : a.number() > b.number() ? 1 : 0;
    case Type::string:
      return sign(a.string().compare(b.string()));
    default:
      return std::nullopt;
  }
}

bool append_order_key(std::string& out, const Value& value, std::size_t size_max) {
  switch (value.type()) {
    case Type::undefined:
      out += '\x01';
      break;
    case Type::null:
      out += '\x02';
      break;
    case Type::boolean:
      out += value.boolean() ? '\x04' : '\x03';
      break;
    case Type::number: {
      out += '\x05';
      const double number = value.number() == 0 ? 0.0 : value.number();
      auto bits = std::bit_cast<std::uint64_t>(number);
      bits = (bits >> 63) != 0 ? ~bits : bits | (1ULL << 63);
      for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(bits >> shift);
      break;
    }
    case Type::string:
      append_string_key(out, value.string());
      break;
    case Type::array: {
      out += '\x07';
      Arena arena(std::numeric_limits<std::size_t>::max());
      Elements elements(value);
      for (Value element; elements.next(element, arena);) {
        if (!append_order_key(out, element, size_max)) return false;
      }
      out += '\0';
      break;
    }
    case Type::object: {
      out += '\x08';
      Arena arena(std::numeric_limits<std::size_t>::max());
      Elements elements(value);
      std::vector<Member> members;
      for (Member member; elements.next(member.name, member.value, arena);) members.push_back(member);
      std::ranges::sort(members, {}, &Member::name);
      for (const Member& member : members) {
        append_string_key(out, member.name);
        if (!append_order_key(out, member.value, size_max)) return false;
      }
      out += '\0';
      break;
    }
  }
  return out.size() <= size_max;
}

bool append_order_key_descending(std::string& out, const Value& value, std::size_t size_max) {
  const std::size_t start = out.size();
  const bool complete = append_order_key(out, value, size_max);
  for (std::size_t i = start; i < out.size(); ++i) out[i] = static_cast<char>(~out[i]);
  return complete;
}

}  // namespace octavo::query::sql

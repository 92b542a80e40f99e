#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "query/sql/evaluate/arena.h"

namespace octavo::query::sql {

/// The types of the language in their order.
enum class Type : std::uint8_t { undefined, null, boolean, number, string, array, object };

struct Member;

/// A value of the language: a small view. Arrays and objects are either JSON text of the document they were read from,
/// which is parsed only where a query reads it, or built in an arena. What it views must outlive it. Copying is cheap.
///
/// JSON texts are minified, like stored documents, so that a value can be copied to a result unchanged: numbers keep
/// their spelling.
class Value {
 public:
  constexpr Value() = default;  ///< undefined
  static constexpr Value null() { return Value(Type::null); }
  static constexpr Value of(bool value) {
    Value result(Type::boolean);
    result.boolean_ = value;
    return result;
  }
  static constexpr Value of(double number) {
    Value result(Type::number);
    result.number_ = number;
    return result;
  }
  static Value of(std::string_view text) {
    Value result(Type::string);
    result.text_ = text.data();
    result.size_ = static_cast<std::uint32_t>(text.size());
    return result;
  }
  static Value array_of(const Value* items, std::size_t count) {
    Value result(Type::array);
    result.items_ = items;
    result.size_ = static_cast<std::uint32_t>(count);
    return result;
  }
  static Value object_of(const Member* members, std::size_t count) {
    Value result(Type::object);
    result.members_ = members;
    result.size_ = static_cast<std::uint32_t>(count);
    return result;
  }
  /// Reads JSON text; empty text is undefined. A string with escapes is decoded into `arena` (undefined beyond its
  /// limit).
  static Value read(std::string_view json, Arena& arena);

  Type type() const { return type_; }
  bool is_undefined() const { return type_ == Type::undefined; }
  bool is_null() const { return type_ == Type::null; }
  bool is_boolean() const { return type_ == Type::boolean; }
  bool is_number() const { return type_ == Type::number; }
  bool is_string() const { return type_ == Type::string; }
  bool is_array() const { return type_ == Type::array; }
  bool is_object() const { return type_ == Type::object; }
  bool is_true() const { return type_ == Type::boolean && boolean_; }
  bool is_false() const { return type_ == Type::boolean && !boolean_; }

  /// Precondition: the value has that type.
  bool boolean() const { return boolean_; }
  double number() const { return number_; }
  std::string_view string() const { return {text_, size_}; }
  /// The value as a 64-bit integer; nullopt: it is not a whole number in that range.
  std::optional<std::int64_t> integer() const;

  /// True if an array or object is JSON text; otherwise it is built, and has items or members.
  bool is_text() const { return spelled_; }
  std::string_view text() const { return {text_, size_}; }
  const Value* items() const { return items_; }
  const Member* members() const { return members_; }
  std::size_t built_size() const { return size_; }

  /// The member `name` of an object; undefined if it does not exist or this is not an object.
  Value member(std::string_view name, Arena& arena) const;
  /// An element of an array; undefined beyond its end, or if this is not an array.
  Value element(std::uint64_t index, Arena& arena) const;
  /// Elements of an array, members of an object. Linear for text.
  std::size_t count() const;

  /// Bytes of text that reading the whole value takes; for a built value, only its items or members without their
  /// values.
  std::size_t bytes() const;

  /// Appends JSON text. Undefined elements are left out; a number that JSON cannot express is a string ("NaN"). Values
  /// share parts, so a small one may have a huge text: returns false, and appends no more, once `out` has more than
  /// `size_max` bytes (a single string or text may exceed it).
  bool append_json(std::string& out, std::size_t size_max = SIZE_MAX) const;

 private:
  explicit constexpr Value(Type type) : type_(type) {}

  Type type_ = Type::undefined;
  bool spelled_ = false;    ///< its JSON is text_ (of an array or object) or spelling_ (of a number)
  std::uint32_t size_ = 0;  ///< of the text, items or members; of a number: of its spelling
  union {
    bool boolean_;
    double number_ = 0;
    const char* text_;
    const Value* items_;
    const Member* members_;
  };
  const char* spelling_ = nullptr;
};

struct Member {
  std::string_view name;
  Value value;
};

/// Walks the elements of an array, or the members of an object.
class Elements {
 public:
  Elements() = default;
  explicit Elements(const Value& container);
  /// Reads the next element into `value` (and the name of a member); false at the end.
  bool next(Value& value, Arena& arena);
  bool next(std::string_view& name, Value& value, Arena& arena);

 private:
  bool next_raw(std::string_view& name, std::string_view& value, Arena* arena);

  Value container_;
  std::size_t position_ = 0;  ///< in the text, or of the item
};

/// The order of two values of one scalar type; nullopt: they cannot be compared.
std::optional<int> compare_scalars(const Value& a, const Value& b);

/// Appends bytes whose memcmp order is the order of ORDER BY, and which are equal exactly for equal values.
///
/// Format (key of ORDER BY):
///   key := 01                               undefined
///        | 02 | 03 | 04                     null | false | true
///        | 05 double:8                      number, big-endian, negative ones complemented
///        | 06 (byte | 00 FF)* 00 00         string, its UTF-8
///        | 07 key* 00                       array
///        | 08 (string-key key)* 00          object, members in order of name
///
/// False: `out` has more than `size_max` bytes, and the key is incomplete (see Value::append_json).
bool append_order_key(std::string& out, const Value& value, std::size_t size_max = SIZE_MAX);
bool append_order_key_descending(std::string& out, const Value& value, std::size_t size_max = SIZE_MAX);

}  // namespace octavo::query::sql

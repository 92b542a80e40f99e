#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace octavo::query {

/// Reads the text of a JSON value from its beginning to its end, in one pass and without building a tree. Precondition:
/// the text is as normalize_document() leaves it, so it is valid and minified, and no object has two members of one
/// name.
///
///     for (bool more = cursor.enter(); more; more = cursor.next()) {
///       const std::string_view name = cursor.name();  // of an object's members only
///       … read or skip the value
///     }
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view json) : p_(json.data()), end_(p_ + json.size()) {}

  /// The first character of the value that comes: `{`, `[`, `"`, `t`, `f`, `n`, `-` or a digit; 0 at the end.
  char front() const { return p_ != end_ ? *p_ : '\0'; }
  /// How many bytes of the same text are between the two.
  std::size_t distance_to(const JsonCursor& later) const { return static_cast<std::size_t>(later.p_ - p_); }
  /// The text of the value that comes; the cursor is behind it.
  std::string_view skip();

  /// Goes into the array or object that comes. False: it is empty, and the cursor is behind it.
  bool enter();
  /// After a value. False: it was the last one of its array or object, and the cursor is behind that.
  bool next();
  /// The decoded name of the member that comes; its value follows. Refers to the text or to the cursor, until the next
  /// name.
  std::string_view name();

 private:
  const char* p_;
  const char* end_;
  std::string decoded_;
};

}  // namespace octavo::query

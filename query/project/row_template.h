#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "query/json/field_path.h"

namespace octavo::query::project {

/// The text by which a projection makes a partition key or an id of a row: `{userId}`, `order-{customer.id}-{number}`.
/// A path in braces stands for a value of the row; `{_id}` is the id of the source document. `{{` is a brace.
///
/// Different values of a path give different texts: `%` and `:` of a string are percent-encoded, and so are a `!` at
/// its beginning and a `_` at the beginning of the whole. A value of another type is `!` and its JSON, encoded
/// likewise. The text between the values stays as it is.
///
/// Immutable and thread-safe.
class RowTemplate {
 public:
  /// Errors: bad_request, with the position of what is wrong.
  static Expected<RowTemplate> parse(std::string_view text);

  /// nullopt: the row lacks one of the values, or the result is empty. `row`: minified JSON.
  std::optional<std::string> fill(std::string_view row, std::string_view source_id) const;
  /// Does the same for a partition key, which cannot have a `:`: those of the text are encoded, too.
  std::optional<std::string> fill_key(std::string_view row, std::string_view source_id) const;
  /// Does the same without encoding anything: to find a document that was not made by a projection.
  std::optional<std::string> fill_plain(std::string_view row, std::string_view source_id) const;
  /// Does the same, as JSON text: a template that is one path keeps the type of its value.
  std::optional<std::string> fill_json(std::string_view row, std::string_view source_id) const;
  const std::string& text() const { return text_; }
  /// fill() gives different source documents different texts, whatever values they have.
  bool is_unique() const;
  /// The names of the fields that its paths begin with, without `_id`.
  std::vector<std::string> fields() const;

 private:
  struct Piece {
    std::string before;             ///< text before the value
    std::optional<FieldPath> path;  ///< absent in the last piece
  };
  template <class AppendText>
  std::optional<std::string> fill_by(std::string_view row, std::string_view source_id, AppendText append_text) const;

  std::string text_;
  std::vector<Piece> pieces_;
};

}  // namespace octavo::query::project

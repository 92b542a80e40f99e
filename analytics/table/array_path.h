#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "query/json/json_cursor.h"

namespace octavo::analytics {

/// Where the arrays are whose elements are the rows of a table: `/items`, `/customer/orders` (in an object) or
/// `/orders/[]/items` (in the elements of other arrays), as in Azure Cosmos DB's indexing policies.
///
/// The JSON that its functions read is as normalize_document() leaves it.
class ArrayPath {
 public:
  using Names = std::vector<std::string>;
  using Positions = std::span<const std::int64_t>;
  static constexpr std::size_t names_max = 8;

  /// nullopt: no such path.
  static std::optional<ArrayPath> parse(std::string_view text);

  const std::string& text() const { return text_; }
  /// How many arrays are around an element: 1 for `/items`.
  std::size_t arrays() const { return steps_.size(); }
  /// The path of the array around these arrays; empty: they are in documents.
  std::string_view parent() const;
  /// The names that lead to the array from the document, or from the element, that is around it.
  const Names& names() const { return steps_.back(); }

  /// The outermost array of a document; nullopt if there is no array at the path.
  std::optional<std::string_view> outermost(std::string_view document) const;
  /// Calls `visit` for each element that is below an outermost array. Its positions are those of the elements around
  /// it, from the outermost one on, and its own. `visit` reads the element.
  void for_each_element(std::string_view outermost, FunctionRef<void(Positions, query::JsonCursor&)> visit) const;

 private:
  void walk(query::JsonCursor& array, std::vector<std::int64_t>& positions,
            FunctionRef<void(Positions, query::JsonCursor&)> visit) const;

  std::string text_;
  std::vector<Names> steps_;  ///< those of each array, from the object around it
};

/// A value without the arrays in it that these names lead to; a value that has none as it is. What is new is put into
/// `texts`.
std::string_view without_arrays(std::string_view value, const std::vector<ArrayPath::Names>& paths,
                                std::deque<std::string>& texts);

}  // namespace octavo::analytics

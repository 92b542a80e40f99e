#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "query/json/field_path.h"

namespace octavo::query {

/// The `fields` of a query: which parts of a document are returned, nested as in the document. Made once per query;
/// immutable. Values are copied as text, so numbers keep their spelling.
class Projection {
 public:
  /// Raw JSON text of the value at a path; empty if the path does not exist.
  using FieldText = FunctionRef<std::string_view(std::size_t field, const FieldPath& path)>;

  Projection() = default;
  explicit Projection(const std::vector<FieldPath>& fields);

  /// True if no fields were named: documents are returned whole.
  bool whole() const { return nodes_.empty(); }
  /// True if there are so many fields that a large document takes long.
  bool is_costly() const { return fields_ > 16; }
  /// Each field is looked for from the beginning of the document. Errors: too_large, if that would take seconds.
  Expected<void> check_cost(std::string_view id, std::size_t document_bytes) const;
  /// Appends an object with the fields that exist. `field_text` gets the number of the field in the list.
  void append(std::string& out, FieldText field_text) const;

 private:
  struct Node {
    std::string key;  ///< `"name":`, ready to append
    std::string name;
    std::ptrdiff_t field = -1;  ///< number of the field that ends here and includes all below it; -1: none
    FieldPath path;
    std::vector<Node> children;
  };
  static bool append_nodes(std::string& out, const std::vector<Node>& nodes, FieldText field_text);

  std::vector<Node> nodes_;
  std::size_t fields_ = 0;
};

}  // namespace octavo::query

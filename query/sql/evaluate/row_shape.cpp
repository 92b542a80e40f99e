#include "query/sql/evaluate/row_shape.h"

#include <algorithm>

#include "base/json_writer.h"
#include "query/json/document_text.h"

namespace octavo::query::sql {

namespace {

class DocumentRows : public RowShape {
 public:
  bool is_system_property(std::string_view name) const override { return name == "_id" || name == "_rev"; }

  void append_system_property(const storage::DocumentView& document, std::string_view name,
                              std::string& out) const override {
    if (name == "_id") {
      append_json_string(out, document.id);
    } else {
      append_revision(out, document.revision);
    }
  }

  void append_row(const storage::DocumentView& document, std::string& out) const override {
    begin_document(out, document.id, document.revision, document.body);
    out += '}';
  }

  std::optional<FieldPath> field_path(std::span<const std::string> path) const override {
    if (path.empty() || (path[0].starts_with('_') && (path[0] != "_id" || path.size() > 1))) return std::nullopt;
    return field_path_of(path);
  }
};

}  // namespace

const RowShape& document_rows() {
  static const DocumentRows shape;
  return shape;
}

std::optional<FieldPath> field_path_of(std::span<const std::string> path) {
  std::string text;
  for (const std::string& part : path) {
    if (part.empty()) return std::nullopt;
    if (!text.empty()) text += '.';
    for (const char c : part) {
      if (c == '.' || c == '\\') text += '\\';
      text += c;
    }
  }
  auto parsed = FieldPath::parse(text);
  if (!parsed) return std::nullopt;
  // Mango must parse the text to the original path.
  const auto& parts = parsed->parts();
  const bool same = std::ranges::equal(parts, path, {}, &FieldPath::Part::name);
  return same ? std::optional(*std::move(parsed)) : std::nullopt;
}

}  // namespace octavo::query::sql

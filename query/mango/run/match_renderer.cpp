#include "query/mango/run/match_renderer.h"

#include <vector>

#include "base/json_writer.h"
#include "query/index/raw_field.h"
#include "query/json/document_text.h"

namespace octavo::query {

namespace {

void append_json_array(std::string& out, const std::vector<std::string>& items) {
  out += '[';
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    append_json_string(out, items[i]);
  }
  out += ']';
}

}  // namespace

Expected<void> MatchRenderer::append(std::string& out, const FindMatch& match, std::size_t plan) {
  if (match.row) {
    prepared_.projection.append(
        out, [&](std::size_t field, const FieldPath&) { return covered_text(*match.row, plan, field); });
    return {};
  }
  const storage::DocumentView& document = *match.document;
  std::string conflicts;
  OCTAVO_TRY_VOID(append_conflicts(conflicts, document, *match.snapshot));
  if (prepared_.projection.whole()) {
    begin_document(out, document.id, document.revision, document.body);
    if (!conflicts.empty()) out.append(",\"_conflicts\":").append(conflicts);
    out += '}';
    return {};
  }
  OCTAVO_TRY_VOID(prepared_.projection.check_cost(document.id, document.body.size()));
  prepared_.projection.append(
      out, [&](std::size_t, const FieldPath& path) { return document_text(document, path, conflicts); });
  return {};
}

std::string_view MatchRenderer::field_text(const FindMatch& match, std::size_t plan, std::size_t field,
                                           const FieldPath& path) {
  return match.row ? covered_text(*match.row, plan, field) : document_text(*match.document, path, {});
}

Expected<void> MatchRenderer::append_with_conflicts(std::string& out, const storage::DocumentView& document,
                                                    const storage::Snapshot& snapshot) const {
  std::string conflicts;
  OCTAVO_TRY_VOID(append_conflicts(conflicts, document, snapshot));
  if (conflicts.empty()) return {};
  out.append(document.body, 0, document.body.size() - 1);
  if (document.body.size() > 2) out += ',';
  out += "\"_conflicts\":" + conflicts + "}";
  return {};
}

// Appends a list of the revisions that lost to the document's; nothing if there are none, or none are asked for.
Expected<void> MatchRenderer::append_conflicts(std::string& out, const storage::DocumentView& document,
                                               const storage::Snapshot& snapshot) const {
  if (!prepared_.request.conflicts || !document.has_conflicts) return {};
  OCTAVO_TRY(const auto tree, snapshot.revision_branches(document));
  std::vector<std::string> conflicts;
  for (const auto* leaf : tree.leaves()) {
    if (!leaf->deleted && leaf->revision != document.revision) conflicts.push_back(leaf->revision.to_string());
  }
  if (!conflicts.empty()) append_json_array(out, conflicts);
  return {};
}

std::string_view MatchRenderer::covered_text(const IndexRow& row, std::size_t plan, std::size_t field) {
  const std::ptrdiff_t column = prepared_.coverings[plan].columns[field];
  if (column >= 0) return row.field(static_cast<std::size_t>(column));
  scratch_.clear();
  append_json_string(scratch_, row.document_id());
  return scratch_;
}

std::string_view MatchRenderer::document_text(const storage::DocumentView& document, const FieldPath& path,
                                              std::string_view conflicts) {
  const std::string& first = path.parts()[0].name;
  if (first.size() < 2 || first[0] != '_' || path.parts().size() > 1) return find_raw_field(document.body, path);
  if (first == "_conflicts") return conflicts;
  if (first != "_id" && first != "_rev") return find_raw_field(document.body, path);
  scratch_.clear();
  append_json_string(scratch_, first == "_id" ? std::string(document.id) : document.revision.to_string());
  return scratch_;
}

}  // namespace octavo::query

#include "query/javascript/transform.h"

#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/json_writer.h"
#include "query/json/normalize.h"
#include "query/json/split.h"
#include "query/project/internal/transform.h"

namespace octavo::query::project {

namespace {

constexpr std::size_t id_bytes_shown = 100;

// The row without the properties that the source's documents have beside their body.
Expected<std::string> plain_row(std::string_view text, const sql::RowShape& shape) {
  std::string row;
  std::vector<SpecialField> special;
  // It may be nested too deeply, or a function `toJSON` may have made another value of it.
  OCTAVO_TRY_VOID(normalize_document(text, row, special));
  for (const SpecialField& field : special) {
    if (shape.is_system_property(field.name)) continue;
    row.pop_back();
    append_json_key(row, field.name);
    row += field.raw;
    row += '}';
  }
  return row;
}

}  // namespace

Expected<std::vector<std::string>> transformed_rows(const javascript::ProgramPtr& function, const sql::RowShape& shape,
                                                    const storage::DocumentView& document, std::string_view joined) {
  std::string text;
  shape.append_row(document, text);
  OCTAVO_TRY(const std::string returned, javascript::transform(function, text, joined));
  OCTAVO_TRY(const auto parts, split_array(returned, transformed_rows_max));
  std::vector<std::string> rows;
  rows.reserve(parts.size());
  for (const std::string_view part : parts) {
    OCTAVO_TRY(auto row, plain_row(part, shape));
    rows.push_back(std::move(row));
  }
  return rows;
}

Expected<void> check_distinct(std::span<const ProjectedRow> rows) {
  if (rows.size() < 2) return {};
  std::unordered_map<std::string_view, std::size_t> numbers;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [first, is_new] = numbers.emplace(rows[i].id, i);
    if (is_new) continue;
    return fail(
        ErrorCode::bad_request,
        fmt::format("Two rows of the document, the {}. and the {}., have the same id '{}': a row needs a key and "
                    "an id of its own.",
                    first->second + 1, i + 1, rows[i].id.substr(0, id_bytes_shown)));
  }
  return {};
}

}  // namespace octavo::query::project

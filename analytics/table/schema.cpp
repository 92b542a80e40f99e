#include "analytics/table/schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/ascii_case.h"
#include "base/assert.h"

namespace octavo::analytics {

namespace {

constexpr std::array<std::pair<ColumnType, std::string_view>, 5> type_names{{
    {ColumnType::boolean, "BOOLEAN"},
    {ColumnType::integer, "BIGINT"},
    {ColumnType::number, "DOUBLE"},
    {ColumnType::text, "VARCHAR"},
    {ColumnType::json, "JSON"},
}};

bool is_integer(std::string_view raw) {
  std::int64_t value = 0;
  const auto read = std::from_chars(raw.data(), raw.data() + raw.size(), value);
  return read.ec == std::errc() && read.ptr == raw.data() + raw.size();
}

}  // namespace

std::string_view sql_name(ColumnType type) {
  return std::ranges::find(type_names, type, &std::pair<ColumnType, std::string_view>::first)->second;
}

std::optional<ColumnType> column_type_of(std::string_view name) {
  const auto found = std::ranges::find(type_names, name, &std::pair<ColumnType, std::string_view>::second);
  return found == type_names.end() ? std::nullopt : std::optional(found->first);
}

std::optional<ColumnType> type_of_json(std::string_view raw) {
  OCTAVO_ASSERT(!raw.empty());
  switch (raw.front()) {
    case 'n':
      return std::nullopt;
    case 't':
    case 'f':
      return ColumnType::boolean;
    case '"':
      return ColumnType::text;
    case '{':
    case '[':
      return ColumnType::json;
    default:
      return is_integer(raw) ? ColumnType::integer : ColumnType::number;
  }
}

Schema::Schema(std::vector<std::string> include, std::vector<Column> columns)
    : include_(std::move(include)), columns_(std::move(columns)) {
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    by_folded_name_.emplace(lower_case(columns_[column].name), column);
  }
}

bool Schema::may_have_column(std::string_view name) const {
  if (name.empty() || name.size() > name_bytes_max || name.front() == '_' || name.contains('\0')) {
    return false;
  }
  return include_.empty() || std::ranges::find(include_, name) != include_.end();
}

void Schema::learn(const std::vector<query::JsonMember>& members) {
  for (const query::JsonMember& member : members) {
    const auto type = type_of_json(member.raw);
    if (!type || !may_have_column(member.name)) continue;
    auto folded = lower_case(member.name);
    if (const auto found = by_folded_name_.find(folded); found != by_folded_name_.end()) {
      Column& column = columns_[found->second];
      if (column.type == ColumnType::integer && *type == ColumnType::number && column.name == member.name) {
        column.type = ColumnType::number;
        changes_.push_back({SchemaChange::Kind::widen, found->second});
      }
    } else if (columns_.size() < columns_max) {
      by_folded_name_.emplace(std::move(folded), columns_.size());
      changes_.push_back({SchemaChange::Kind::add, columns_.size()});
      columns_.push_back({member.name, *type, 0});
    }
  }
}

std::vector<SchemaChange> Schema::take_changes() {
  return std::exchange(changes_, {});
}

std::optional<std::size_t> Schema::find(std::string_view name) const {
  const auto found = by_folded_name_.find(lower_case(name));
  if (found == by_folded_name_.end() || columns_[found->second].name != name) return std::nullopt;
  return found->second;
}

}  // namespace octavo::analytics

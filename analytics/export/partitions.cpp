#include "analytics/export/partitions.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analytics/table/document_table.h"
#include "base/digest.h"

namespace octavo::analytics {

namespace {

using duckdb::quoted_name;
using duckdb::quoted_text;

// https://github.com/apache/hive, FileUtils: the characters that are escaped, and the folder of rows without a value.
constexpr std::string_view escaped_characters = "\"#%'*/:=?\\{[]^";
constexpr std::string_view null_name = "__HIVE_DEFAULT_PARTITION__";
constexpr unsigned char first_printable = 0x20;
constexpr unsigned char delete_character = 0x7f;
// Of a name in Linux's file systems.
constexpr std::size_t name_bytes_max = 255;
constexpr std::string_view position_prefix = "_position";
constexpr std::array<std::string_view, 4> partition_types{"VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN"};

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < first_printable || byte == delete_character || escaped_characters.contains(c)) {
      out += fmt::format("%{:02X}", byte);
    } else {
      out += c;
    }
  }
}

std::unexpected<Error> syntax(std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), "export_syntax");
}

std::unexpected<Error> limit(std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), "export_limit");
}

// NULL for what cannot be told from it by its folder.
std::string text_of(const std::string& column) {
  return fmt::format("nullif(nullif({}::varchar, ''), {})", quoted_name(column), quoted_text(null_name));
}

std::string key_name(std::size_t number) {
  return fmt::format("k{}", number);
}

}  // namespace

std::string hive_folder_name(std::string_view column, std::string_view text) {
  std::string name;
  append_escaped(name, column);
  name += '=';
  if (text.empty()) return name.append(null_name);
  append_escaped(name, text);
  return name;
}

Expected<Partitioning> Partitioning::create(duckdb::Connection& connection, const ExportedTable& table,
                                            const std::vector<std::string>& columns) {
  Partitioning partitioning(columns);
  partitioning.table_ = quoted_name(table.name);
  OCTAVO_TRY(const auto known,
             connection.rows(fmt::format("select column_name, column_type from (describe {})", partitioning.table_)));
  for (const std::string& column : columns) {
    const auto found = std::ranges::find_if(known, [&](const auto& row) { return row[0].text == column; });
    if (column.starts_with('_') || found == known.end()) {
      return syntax(fmt::format("`partition_by`: the table has no column {} for a property.", column));
    }
    const std::string& type = (*found)[1].text;
    if (std::ranges::find(partition_types, type) == partition_types.end()) {
      return syntax(fmt::format("`partition_by`: the column {} is {}: only texts, numbers and booleans have a folder.",
                                column, type));
    }
  }
  std::string described;
  for (const auto& row : known) described += quoted_name(row[0].text) + ' ' + row[1].text + '\n';
  for (const std::string& column : columns) described += quoted_name(column);
  if (table.name == documents_name) {
    partitioning.versions_ = table.name;
    partitioning.identity_ = "_id, _rev, _deleted";
  } else {
    // Rows of elements have no revision of their own, and tables of other arrays may have the same name and columns.
    described += '\n' + table.name + '\n' + table.made;
    partitioning.versions_ =
        fmt::format("{} left join (select _id, _rev from documents) using (_id)", partitioning.table_);
    partitioning.identity_ = "_id, _rev";
    for (const auto& row : known) {
      if (row[0].text.starts_with(position_prefix)) partitioning.identity_ += ", " + row[0].text;
    }
  }
  partitioning.layout_ = crypto::hex_identity(described);
  return partitioning;
}

std::string Partitioning::texts_as_columns() const {
  std::string list;
  for (std::size_t number = 0; number < columns_.size(); ++number) {
    list += fmt::format(", {} as {}", text_of(columns_[number]), key_name(number));
  }
  return list;
}

// The keys in their order, which is the same in each statement of a transaction.
std::string Partitioning::numbered_keys() const {
  std::vector<std::string> keys;
  for (std::size_t number = 0; number < columns_.size(); ++number) keys.push_back(key_name(number));
  const std::string list = fmt::format("{}", fmt::join(keys, ", "));
  return fmt::format(
      "select row_number() over ({}{}) as number, count(*) as count, bit_xor(hash({})) as print{}{} from "
      "(select {}{} from {}) {}{} having count(*) > 0",
      keys.empty() ? "" : "order by ", list, identity_, keys.empty() ? "" : ", ", list, identity_, texts_as_columns(),
      versions_, keys.empty() ? "" : "group by ", list);
}

Expected<std::vector<Partition>> Partitioning::list(duckdb::Connection& connection) const {
  OCTAVO_TRY(const auto rows,
             connection.rows(fmt::format("{} order by number limit {}", numbered_keys(), partitions_max + 1)));
  if (rows.size() > partitions_max) {
    return limit(fmt::format("The table has more than {} combinations of values of {}: choose columns with fewer.",
                             partitions_max, fmt::join(columns_, ", ")));
  }
  std::vector<Partition> partitions;
  for (const auto& row : rows) {
    Partition partition{.number = row[0].integer,
                        .folder = {},
                        .rows = static_cast<std::uint64_t>(row[1].integer),
                        .fingerprint = fmt::format("{:016x}", static_cast<std::uint64_t>(row[2].integer))};
    for (std::size_t number = 0; number < columns_.size(); ++number) {
      const std::string name = hive_folder_name(columns_[number], row[3 + number].text);
      if (name.size() > name_bytes_max) {
        return limit(fmt::format("The column {} has a text of {} bytes, which is too long for the name of a folder.",
                                 columns_[number], row[3 + number].text.size()));
      }
      if (number > 0) partition.folder += '/';
      partition.folder += name;
    }
    partitions.push_back(std::move(partition));
  }
  return partitions;
}

Expected<void> Partitioning::write(duckdb::Connection& connection, const std::vector<std::int64_t>& numbers,
                                   const std::string& folder) const {
  std::string columns = "d.*";
  std::string same = "true";
  if (!columns_.empty()) {
    std::vector<std::string> names;
    for (const std::string& column : columns_) names.push_back(quoted_name(column));
    columns += fmt::format(" exclude ({})", fmt::join(names, ", "));
  }
  for (std::size_t number = 0; number < columns_.size(); ++number) {
    same += fmt::format(" and {} is not distinct from keys.{}", text_of(columns_[number]), key_name(number));
  }
  // Numbers of partitions take the place of their texts, because DuckDB escapes names in another way. No property has a
  // column whose name begins with `_`.
  return connection.run(fmt::format(
      "copy (with keys as ({}) select {}, keys.number as _partition from {} d join keys on {} where keys.number in "
      "({})) to {} (format parquet, partition_by (_partition), write_partition_columns false)",
      numbered_keys(), columns, table_, same, fmt::join(numbers, ", "), quoted_text(folder)));
}

}  // namespace octavo::analytics

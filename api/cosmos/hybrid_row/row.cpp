#include "api/cosmos/hybrid_row/row.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/assert.h"
#include "base/byte_codec.h"

namespace octavo::api::cosmos::hybrid_row {

namespace {

constexpr std::uint8_t version = 0x81;
constexpr std::size_t header_bytes = 5;
constexpr std::size_t fixed_column_bytes = 4;

namespace code {
constexpr std::uint8_t null = 1;
constexpr std::uint8_t boolean_false = 2;
constexpr std::uint8_t boolean_true = 3;
constexpr std::uint8_t int32 = 7;
constexpr std::uint8_t uint32 = 11;
constexpr std::uint8_t var_int = 13;
constexpr std::uint8_t var_uint = 14;
constexpr std::uint8_t float64 = 16;
constexpr std::uint8_t text = 20;
constexpr std::uint8_t bytes = 21;
constexpr std::uint8_t first_scope = 30;
}  // namespace code

// Bytes of the values of types that no column has, by code: int8 to uint64, float32, decimal, date, GUID, float128,
// Unix time, object id. 0: no such type, or one that has its own case.
constexpr std::array<std::uint8_t, code::first_scope> other_type_bytes{0, 0, 0,  0, 0,  1, 2, 0,  8, 1,  2, 0, 8, 0, 0,
                                                                       4, 0, 16, 8, 16, 0, 0, 16, 8, 12, 0, 0, 0, 0, 0};

std::unexpected<Error> invalid(std::string_view what) {
  return fail(ErrorCode::bad_request, fmt::format("The HybridRow record is invalid: {}.", what));
}

std::unexpected<Error> truncated() {
  return invalid("it ends too early");
}

bool has_bit(const Column& column) {
  return column.nullable && column.storage != Storage::sparse;
}

std::size_t presence_bytes(const Schema& schema) {
  return (static_cast<std::size_t>(std::ranges::count_if(schema.columns, has_bit)) + 7) / 8;
}

std::uint32_t read_u32(ByteReader& in) {
  std::uint32_t value = 0;
  for (int shift = 0; shift < 32; shift += 8) value |= static_cast<std::uint32_t>(in.u8()) << shift;
  return value;
}

void append_u32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

Expected<Value> sized_value(ByteReader& in, const Column& column) {
  const std::string_view bytes = in.sized_bytes();
  if (!in.ok()) return truncated();
  if (column.type == ColumnType::text && !simdjson::validate_utf8(bytes.data(), bytes.size())) {
    return invalid(fmt::format("'{}' is not UTF-8", column.name));
  }
  return Value(bytes);
}

// A value of a sparse column, after its type and path. `known`: the column; null: none of the schema, so skip the
// value.
Expected<Value> sparse_value(ByteReader& in, std::uint8_t type, const Column* known) {
  std::optional<ColumnType> found;
  Value value;
  switch (type) {
    case code::null:
      return Value();
    case code::boolean_false:
    case code::boolean_true:
      found = ColumnType::boolean;
      value = type == code::boolean_true;
      break;
    case code::int32:
      found = ColumnType::int32;
      value = static_cast<std::int32_t>(read_u32(in));
      break;
    case code::uint32:
      found = ColumnType::uint32;
      value = read_u32(in);
      break;
    case code::float64:
      found = ColumnType::float64;
      value = std::bit_cast<double>(in.u64());
      break;
    case code::text:
    case code::bytes: {
      found = type == code::text ? ColumnType::text : ColumnType::bytes;
      OCTAVO_TRY(value, sized_value(in, known && known->type == *found ? *known : Column{"", ColumnType::bytes, {}}));
      break;
    }
    case code::var_int:
    case code::var_uint:
      in.varint();
      break;
    default:
      if (type >= code::first_scope) return invalid("it has nested values");
      if (other_type_bytes[type] == 0) return invalid(fmt::format("it has a value of the unknown type {}", type));
      in.bytes(other_type_bytes[type]);
      break;
  }
  if (!in.ok()) return truncated();
  if (known && found != known->type) return invalid(fmt::format("'{}' has the wrong type", known->name));
  return value;
}

// The column that a path names; `npos`: none of the schema.
Expected<std::size_t> sparse_column(ByteReader& in, const Schema& schema) {
  constexpr auto none = std::string_view::npos;
  const std::uint64_t token = in.varint();
  if (!in.ok()) return truncated();
  if (token == 0) return none;
  if (token <= schema.columns.size()) return token - 1;
  const std::string_view name = in.bytes(token - schema.columns.size() - 1);
  if (!in.ok()) return truncated();
  const auto found = std::ranges::find(schema.columns, name, &Column::name);
  return found == schema.columns.end() ? none : static_cast<std::size_t>(found - schema.columns.begin());
}

void append_sparse(std::string& out, std::size_t column, const Value& value, ColumnType type) {
  ByteWriter writer(out);
  const auto head = [&](std::uint8_t type_code) {
    writer.u8(type_code);
    writer.varint(column + 1);
  };
  switch (type) {
    case ColumnType::boolean:
      head(std::get<bool>(value) ? code::boolean_true : code::boolean_false);
      break;
    case ColumnType::int32:
      head(code::int32);
      append_u32(out, static_cast<std::uint32_t>(std::get<std::int32_t>(value)));
      break;
    case ColumnType::uint32:
      head(code::uint32);
      append_u32(out, std::get<std::uint32_t>(value));
      break;
    case ColumnType::float64:
      head(code::float64);
      writer.u64(std::bit_cast<std::uint64_t>(std::get<double>(value)));
      break;
    case ColumnType::text:
    case ColumnType::bytes:
      head(type == ColumnType::text ? code::text : code::bytes);
      writer.sized_bytes(std::get<std::string_view>(value));
      break;
  }
}

}  // namespace

Expected<std::uint32_t> schema_of(std::string_view row) {
  if (row.size() < header_bytes) return truncated();
  ByteReader in(row);
  if (in.u8() != version) return invalid("it does not begin with the version 0x81");
  return read_u32(in);
}

std::size_t smallest_row_bytes(const Schema& schema) {
  const auto fixed = std::ranges::count(schema.columns, Storage::fixed, &Column::storage);
  return header_bytes + presence_bytes(schema) + static_cast<std::size_t>(fixed) * fixed_column_bytes;
}

Expected<std::vector<Value>> read_row(std::string_view row, const Schema& schema) {
  OCTAVO_TRY(const auto id, schema_of(row));
  if (id != schema.id) return invalid(fmt::format("its schema is {}, not {}", id, schema.id));
  if (row.size() < smallest_row_bytes(schema)) return truncated();
  ByteReader in(row.substr(header_bytes));
  const std::string_view presence = in.bytes(presence_bytes(schema));
  std::vector<Value> values(schema.columns.size());
  std::vector<bool> present(schema.columns.size());
  std::size_t bit = 0;
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    const Column& column = schema.columns[i];
    if (column.storage == Storage::sparse) continue;
    present[i] = !column.nullable || (static_cast<unsigned char>(presence[bit / 8]) >> (bit % 8) & 1) != 0;
    if (column.nullable) ++bit;
  }
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    if (schema.columns[i].storage != Storage::fixed) continue;
    const std::uint32_t raw = read_u32(in);
    if (!present[i]) continue;
    if (schema.columns[i].type == ColumnType::int32) {
      values[i] = static_cast<std::int32_t>(raw);
    } else {
      values[i] = raw;
    }
  }
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    if (schema.columns[i].storage != Storage::variable || !present[i]) continue;
    OCTAVO_TRY(values[i], sized_value(in, schema.columns[i]));
  }
  while (!in.rest().empty()) {
    const std::uint8_t type = in.u8();
    OCTAVO_TRY(const auto column, sparse_column(in, schema));
    const bool known = column != std::string_view::npos;
    OCTAVO_TRY(auto value, sparse_value(in, type, known ? &schema.columns[column] : nullptr));
    if (!known) continue;
    if (present[column]) return invalid(fmt::format("'{}' comes twice", schema.columns[column].name));
    present[column] = true;
    values[column] = value;
  }
  return values;
}

void append_row(std::string& out, const Schema& schema, std::span<const Value> values) {
  OCTAVO_ASSERT(values.size() == schema.columns.size());
  ByteWriter writer(out);
  writer.u8(version);
  append_u32(out, schema.id);
  const std::size_t presence = out.size();
  out.append(presence_bytes(schema), '\0');
  std::size_t bit = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!has_bit(schema.columns[i])) continue;
    if (values[i].index() != 0) out[presence + bit / 8] = static_cast<char>(out[presence + bit / 8] | 1 << (bit % 8));
    ++bit;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (schema.columns[i].storage != Storage::fixed) continue;
    const auto* number = std::get_if<std::uint32_t>(&values[i]);
    const auto* integer = std::get_if<std::int32_t>(&values[i]);
    append_u32(out, number ? *number : integer ? static_cast<std::uint32_t>(*integer) : 0);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (schema.columns[i].storage != Storage::variable || values[i].index() == 0) continue;
    writer.sized_bytes(std::get<std::string_view>(values[i]));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (schema.columns[i].storage != Storage::sparse || values[i].index() == 0) continue;
    append_sparse(out, i, values[i], schema.columns[i].type);
  }
}

}  // namespace octavo::api::cosmos::hybrid_row

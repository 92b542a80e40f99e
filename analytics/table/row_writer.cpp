#include "analytics/table/row_writer.h"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/json_writer.h"
#include "query/json/normalize.h"

namespace octavo::analytics {

namespace {

double number_of(std::string_view raw) {
  double value = 0;
  const auto read = std::from_chars(raw.data(), raw.data() + raw.size(), value);
  if (read.ec != std::errc::result_out_of_range) return value;
  // Too large, or too close to zero.
  const std::string text(raw);
  const double nearest = std::strtod(text.c_str(), nullptr);
  constexpr double largest = std::numeric_limits<double>::max();
  return nearest > largest ? largest : nearest < -largest ? -largest : nearest;
}

std::vector<ColumnBuffer> fixed_columns(std::size_t arrays) {
  if (arrays == 0) {
    return ColumnBuffer::of(
        {ValueKind::text, ValueKind::text, ValueKind::integer, ValueKind::boolean, ValueKind::json});
  }
  auto columns = ColumnBuffer::of({ValueKind::text});
  for (std::size_t n = 0; n < arrays; ++n) columns.emplace_back(ValueType{ValueKind::integer, {}, {}});
  columns.emplace_back(ValueType{ValueKind::json, {}, {}});
  return columns;
}

}  // namespace

RowWriter::RowWriter(Schema& schema, std::size_t arrays)
    : schema_(schema), columns_(fixed_columns(arrays)), first_property_(columns_.size()) {
  for (const Column& column : schema.columns()) columns_.emplace_back(column.type);
}

void RowWriter::clear() {
  for (ColumnBuffer& column : columns_) column.clear();
  decoded_.clear();
  cells_ = 0;
}

void RowWriter::drop(ColumnBuffer& buffer) {
  ++dropped_;
  buffer.null();
}

void RowWriter::add_null(ColumnBuffer& buffer) {
  row_cells_ += buffer.null_cells();
  buffer.null();
}

void RowWriter::write_scalar(std::string_view raw, const ValueType& type, ColumnBuffer& buffer) {
  if (raw.empty()) return buffer.null();
  const ValueKind kind = kind_of_json(raw);
  if (kind == ValueKind::none) return buffer.null();
  if (type.kind == ValueKind::json) return buffer.text(raw);
  if (type.kind == ValueKind::number && kind == ValueKind::integer) return buffer.number(number_of(raw));
  if (type.kind != kind) return drop(buffer);
  switch (kind) {
    case ValueKind::boolean:
      return buffer.boolean(raw.front() == 't');
    case ValueKind::number:
      return buffer.number(number_of(raw));
    case ValueKind::integer: {
      std::int64_t value = 0;
      std::from_chars(raw.data(), raw.data() + raw.size(), value);
      return buffer.integer(value);
    }
    case ValueKind::text: {
      const std::string_view inside = raw.substr(1, raw.size() - 2);
      if (!inside.contains('\\')) return buffer.text(inside);
      query::append_decoded_string(inside, decoded_.emplace_back());
      return buffer.text(decoded_.back());
    }
    default:
      // An object without members of a type.
      return buffer.text("{}");
  }
}

void RowWriter::write_value(query::JsonCursor& cursor, const ValueType& type, ColumnBuffer& buffer) {
  ++row_cells_;
  const char first = cursor.front();
  if (type.kind == ValueKind::variants && first != 'n') return write_variant(cursor, type, buffer);
  if (first == '{' && buffer.kind() == ValueKind::object) return write_object(cursor, type, buffer);
  if (first == '[' && buffer.kind() == ValueKind::list) return write_list(cursor, type, buffer);
  const std::string_view raw = cursor.skip();
  if (buffer.kind() != ValueKind::object && buffer.kind() != ValueKind::list) return write_scalar(raw, type, buffer);
  if (first != 'n') ++dropped_;
  add_null(buffer);
}

void RowWriter::write_object(query::JsonCursor& cursor, const ValueType& type, ColumnBuffer& buffer) {
  buffer.object();
  std::size_t expected = 0;
  for (bool more = cursor.enter(); more; more = cursor.next()) {
    const auto member = type.find(cursor.name(), expected);
    if (!member) {
      cursor.skip();  // null: a value would have given it a type
      continue;
    }
    expected = *member + 1;
    ColumnBuffer& child = buffer.child(*member);
    if (child.size() == buffer.size()) child.truncate(buffer.size() - 1);
    write_value(cursor, type.children[*member], child);
  }
  complete(buffer);
}

// The members that have no value get NULL.
void RowWriter::complete(ColumnBuffer& object) {
  for (std::size_t member = 0; member < object.children().size(); ++member) {
    ColumnBuffer& child = object.child(member);
    if (child.size() < object.size()) add_null(child);
  }
}

void RowWriter::write_variant(query::JsonCursor& cursor, const ValueType& type, ColumnBuffer& buffer) {
  const auto variant = type.find(variant_name(kind_of_next(cursor)), 0);
  if (!variant) {
    cursor.skip();
    return drop(buffer);
  }
  buffer.object();
  write_value(cursor, type.children[*variant], buffer.child(*variant));
  complete(buffer);
}

void RowWriter::write_list(query::JsonCursor& cursor, const ValueType& type, ColumnBuffer& buffer) {
  ColumnBuffer& elements = buffer.child(0);
  const std::size_t first = elements.size();
  for (bool more = cursor.enter(); more; more = cursor.next()) {
    if (row_cells_ > row_cells_max) {
      cursor.skip();
    } else {
      write_value(cursor, type.element(), elements);
    }
  }
  buffer.list(first);
}

void RowWriter::write_column(query::JsonCursor& cursor, std::size_t column, ColumnBuffer& buffer) {
  const std::size_t rows = buffer.size();
  const std::size_t cells = row_cells_;
  const query::JsonCursor begin = cursor;
  dropped_ = 0;
  write_value(cursor, schema_.columns()[column].type, buffer);
  if (row_cells_ > row_cells_max || begin.distance_to(cursor) > value_bytes_max) {
    buffer.truncate(rows);
    buffer.null();
    row_cells_ = cells;
    dropped_ = 1;
  }
  if (dropped_ > 0) schema_.count_dropped(column, dropped_);
}

void RowWriter::write(const RowSource& source) {
  columns_[0].text(source.id);
  columns_[1].text(source.revision);
  if (source.modified_s > 0) {
    columns_[2].integer(source.modified_s);
  } else {
    columns_[2].null();
  }
  columns_[3].boolean(false);
  query::JsonCursor cursor(source.json);
  write_object_columns(cursor);
  end_row();
}

void RowWriter::write_element(std::string_view id, ArrayPath::Positions positions, query::JsonCursor& cursor) {
  columns_[0].text(id);
  for (std::size_t n = 0; n < positions.size(); ++n) columns_[1 + n].integer(positions[n]);
  if (cursor.front() == '{') {
    write_object_columns(cursor);
  } else if (cursor.front() == 'n') {
    cursor.skip();
  } else {
    std::size_t expected = 0;
    write_property(Schema::element_property, cursor, expected);
  }
  end_row();
}

void RowWriter::write_object_columns(query::JsonCursor& cursor) {
  std::size_t expected = 0;
  for (bool more = cursor.enter(); more; more = cursor.next()) {
    const std::string_view name = cursor.name();
    write_property(name, cursor, expected);
  }
}

void RowWriter::write_property(std::string_view name, query::JsonCursor& cursor, std::size_t& expected) {
  if (const auto column = schema_.find(name, expected)) {
    expected = *column + 1;
    ColumnBuffer& buffer = columns_[first_property_ + *column];
    buffer.truncate(rows() - 1);  // of two members of one name the last one counts
    return write_column(cursor, *column, buffer);
  }
  const bool is_elsewhere = cursor.front() == '[' && schema_.is_flattened(name);
  const std::string_view raw = cursor.skip();
  if (is_elsewhere || !schema_.keeps_rest()) return;
  rest_ += rest_.empty() ? '{' : ',';
  append_json_string(rest_, name);
  rest_ += ':';
  rest_ += raw;
}

void RowWriter::end_row() {
  ColumnBuffer& rest = columns_[first_property_ - 1];
  if (rest_.empty() || rest_.size() > value_bytes_max) {
    rest.null();
  } else {
    rest.text(decoded_.emplace_back(std::move(rest_) + '}'));
  }
  rest_.clear();
  for (std::size_t column = first_property_; column < columns_.size(); ++column) {
    if (columns_[column].size() < rows()) columns_[column].null();
  }
  cells_ += columns_.size() + row_cells_;
  row_cells_ = 0;
}

}  // namespace octavo::analytics

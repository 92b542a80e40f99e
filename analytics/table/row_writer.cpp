#include "analytics/table/row_writer.h"

#include <charconv>
#include <cstdlib>
#include <limits>

#include "base/json_writer.h"

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

}  // namespace

void RowWriter::write_value(std::size_t column, std::string_view raw, RowSink& sink) {
  const auto type = raw.empty() ? std::nullopt : type_of_json(raw);
  if (!type) return sink.null();
  const ColumnType wanted = schema_.columns()[column].type;
  const bool is_number = *type == ColumnType::integer || *type == ColumnType::number;
  if (wanted == ColumnType::number && is_number) return sink.number(number_of(raw));
  if (wanted == *type && raw.size() <= value_bytes_max) {
    switch (wanted) {
      case ColumnType::boolean:
        return sink.boolean(raw.front() == 't');
      case ColumnType::integer: {
        std::int64_t value = 0;
        std::from_chars(raw.data(), raw.data() + raw.size(), value);
        return sink.integer(value);
      }
      case ColumnType::text:
        if (const auto decoded = query::decode_json_string(raw)) return sink.text(*decoded);
        break;
      case ColumnType::json:
        return sink.text(raw);
      case ColumnType::number:
        break;
    }
  }
  schema_.count_dropped(column);
  sink.null();
}

void RowWriter::write(const RowSource& source, RowSink& sink) {
  values_.assign(schema_.columns().size(), {});
  rest_.clear();
  for (const query::JsonMember& member : source.members) {
    if (const auto column = schema_.find(member.name)) {
      values_[*column] = member.raw;
    } else if (schema_.keeps_rest()) {
      rest_ += rest_.empty() ? '{' : ',';
      append_json_string(rest_, member.name);
      rest_ += ':';
      rest_ += member.raw;
    }
  }
  sink.text(source.id);
  sink.text(source.revision);
  if (source.modified_s > 0) {
    sink.integer(source.modified_s);
  } else {
    sink.null();
  }
  if (rest_.empty() || rest_.size() > value_bytes_max) {
    sink.null();
  } else {
    rest_ += '}';
    sink.text(rest_);
  }
  for (std::size_t column = 0; column < values_.size(); ++column) write_value(column, values_[column], sink);
  sink.end_row();
}

}  // namespace octavo::analytics

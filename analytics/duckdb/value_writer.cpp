#include "analytics/duckdb/value_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "analytics/duckdb/connection.h"
#include "base/encoding.h"
#include "base/json_writer.h"

namespace octavo::analytics::duckdb {

namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

constexpr std::int64_t seconds_per_day = 86'400;

bool is_valid(const Api& api, VectorHandle vector, Index row) {
  const std::uint64_t* const valid = api.vector_get_validity(vector);
  return valid == nullptr || (valid[row / 64] >> (row % 64) & 1) != 0;
}

template <class Value>
Value value_at(const void* data, Index row) {
  return static_cast<const Value*>(data)[row];
}

template <class Value>
void append_integer(std::string& out, const void* data, Index row) {
  // The sign makes an int of a byte, which would be written as a character.
  fmt::format_to(std::back_inserter(out), "{}", +value_at<Value>(data, row));
}

// It refers to the vector: short texts stand in it.
std::string_view text_at(const void* data, Index row) {
  return static_cast<const StringValue*>(data)[row].view();
}

UnsignedWide wide_at(const void* data, Index row) {
  const auto huge = value_at<HugeInteger>(data, row);
  return static_cast<UnsignedWide>(static_cast<std::uint64_t>(huge.upper)) << 64 | huge.lower;
}

std::string digits_of(UnsignedWide value) {
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value != 0);
  return digits;
}

void append_wide(std::string& out, UnsignedWide value, bool is_signed, std::size_t scale) {
  if (is_signed && static_cast<Wide>(value) < 0) {
    out += '-';
    value = -value;
  }
  std::string digits = digits_of(value);
  if (scale > 0) {
    if (digits.size() <= scale) digits.insert(0, scale + 1 - digits.size(), '0');
    digits.insert(digits.size() - scale, 1, '.');
  }
  out += digits;
}

void append_double(std::string& out, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    out += "null";
  }
}

/// Days since 1970 as a date of the Gregorian calendar (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
void append_date(std::string& out, std::int64_t days) {
  days += 719'468;
  const std::int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const std::int64_t day_of_era = days - era * 146'097;
  const std::int64_t year_of_era = (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
  const std::int64_t day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
  const std::int64_t month = shifted_month < 10 ? shifted_month + 3 : shifted_month - 9;
  const std::int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
  if (year < 0) out += '-';
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}", std::abs(year), month, day);
}

void append_time(std::string& out, std::int64_t units, std::int64_t per_second) {
  const std::int64_t seconds = units / per_second;
  fmt::format_to(std::back_inserter(out), "{:02}:{:02}:{:02}", seconds / 3'600, seconds / 60 % 60, seconds % 60);
  if (const std::int64_t rest = units % per_second; rest != 0) {
    fmt::format_to(std::back_inserter(out), ".{:0{}}", rest,
                   per_second == 1'000'000'000 ? 9
                   : per_second == 1'000       ? 3
                                               : 6);
  }
}

// The largest and the smallest value but one are the infinities.
bool is_infinite(std::int64_t units) {
  return units == std::numeric_limits<std::int64_t>::max() || units == -std::numeric_limits<std::int64_t>::max();
}

void append_timestamp(std::string& out, std::int64_t units, std::int64_t per_second, bool has_zone) {
  if (is_infinite(units)) {
    out += units > 0 ? "infinity" : "-infinity";
    return;
  }
  const std::int64_t per_day = seconds_per_day * per_second;
  std::int64_t days = units / per_day;
  std::int64_t rest = units % per_day;
  if (rest < 0) {
    rest += per_day;
    --days;
  }
  append_date(out, days);
  out += 'T';
  append_time(out, rest, per_second);
  if (has_zone) out += 'Z';
}

void append_uuid(std::string& out, UnsignedWide value) {
  value ^= static_cast<UnsignedWide>(1) << 127;  // so that they sort as numbers
  for (int digit = 31; digit >= 0; --digit) {
    out += crypto::hex_digits[static_cast<std::size_t>(value >> (4 * digit) & 15)];
    if (digit == 24 || digit == 20 || digit == 16 || digit == 12) out += '-';
  }
}

std::string taken(const Api& api, char* text) {
  std::string copy = text != nullptr ? text : "";
  api.free(text);
  return copy;
}

std::size_t enumeration_index(const void* data, Type type, Index row) {
  if (type == Type::uint8) return value_at<std::uint8_t>(data, row);
  if (type == Type::uint16) return value_at<std::uint16_t>(data, row);
  return value_at<std::uint32_t>(data, row);
}

}  // namespace

Expected<ValueWriter> ValueWriter::create(const Api& api, TypeHandle type) {
  ValueWriter writer(api);
  writer.type_ = api.get_type_id(type);
  const auto add_child = [&](TypeHandle child) -> Expected<void> {
    Owned<TypeHandle> owned(api.destroy_logical_type);
    *owned.out() = child;
    OCTAVO_TRY(auto created, create(api, child));
    writer.children_.push_back(std::move(created));
    return {};
  };
  switch (writer.type_) {
    case Type::boolean:
    case Type::int8:
    case Type::int16:
    case Type::int32:
    case Type::int64:
    case Type::uint8:
    case Type::uint16:
    case Type::uint32:
    case Type::uint64:
    case Type::float32:
    case Type::float64:
    case Type::timestamp:
    case Type::date:
    case Type::time:
    case Type::int128:
    case Type::uint128:
    case Type::blob:
    case Type::timestamp_s:
    case Type::timestamp_ms:
    case Type::timestamp_ns:
    case Type::timestamp_tz:
    case Type::uuid:
    case Type::null:
      break;
    case Type::text:
      writer.is_json_ = taken(api, api.logical_type_get_alias(type)) == "JSON";
      break;
    case Type::decimal:
      writer.scale_ = api.decimal_scale(type);
      writer.internal_type_ = api.decimal_internal_type(type);
      break;
    case Type::enumeration:
      writer.internal_type_ = api.enum_internal_type(type);
      for (Index value = 0; value < api.enum_dictionary_size(type); ++value) {
        writer.names_.push_back(taken(api, api.enum_dictionary_value(type, value)));
      }
      break;
    case Type::list:
      OCTAVO_TRY_VOID(add_child(api.list_type_child_type(type)));
      break;
    case Type::array:
      writer.array_size_ = api.array_type_array_size(type);
      OCTAVO_TRY_VOID(add_child(api.array_type_child_type(type)));
      break;
    case Type::map:
      writer.names_ = {"key", "value"};
      OCTAVO_TRY_VOID(add_child(api.map_type_key_type(type)));
      OCTAVO_TRY_VOID(add_child(api.map_type_value_type(type)));
      break;
    case Type::structure:
      for (Index field = 0; field < api.struct_type_child_count(type); ++field) {
        writer.names_.push_back(taken(api, api.struct_type_child_name(type, field)));
        OCTAVO_TRY_VOID(add_child(api.struct_type_child_type(type, field)));
      }
      break;
    default:
      return fail(ErrorCode::unsupported, "no form");
  }
  return writer;
}

bool ValueWriter::is_text() const {
  switch (type_) {
    case Type::text:
      return !is_json_;
    case Type::timestamp:
    case Type::date:
    case Type::time:
    case Type::blob:
    case Type::timestamp_s:
    case Type::timestamp_ms:
    case Type::timestamp_ns:
    case Type::timestamp_tz:
    case Type::uuid:
    case Type::enumeration:
      return true;
    default:
      return false;
  }
}

// Of a value that is not NULL: the JSON, or the text without quotes if is_text().
void ValueWriter::append_value(std::string& out, const void* data, VectorHandle vector, Index row) const {
  switch (type_) {
    case Type::boolean:
      out += value_at<bool>(data, row) ? "true" : "false";
      return;
    case Type::int8:
      return append_integer<std::int8_t>(out, data, row);
    case Type::int16:
      return append_integer<std::int16_t>(out, data, row);
    case Type::int32:
      return append_integer<std::int32_t>(out, data, row);
    case Type::int64:
      return append_integer<std::int64_t>(out, data, row);
    case Type::uint8:
      return append_integer<std::uint8_t>(out, data, row);
    case Type::uint16:
      return append_integer<std::uint16_t>(out, data, row);
    case Type::uint32:
      return append_integer<std::uint32_t>(out, data, row);
    case Type::uint64:
      return append_integer<std::uint64_t>(out, data, row);
    case Type::float32: {
      const float value = value_at<float>(data, row);
      if (std::isfinite(value)) return static_cast<void>(fmt::format_to(std::back_inserter(out), "{}", value));
      out += "null";
      return;
    }
    case Type::float64:
      return append_double(out, value_at<double>(data, row));
    case Type::int128:
      return append_wide(out, wide_at(data, row), true, 0);
    case Type::uint128:
      return append_wide(out, wide_at(data, row), false, 0);
    case Type::decimal: {
      Wide value = 0;
      if (internal_type_ == Type::int16) {
        value = value_at<std::int16_t>(data, row);
      } else if (internal_type_ == Type::int32) {
        value = value_at<std::int32_t>(data, row);
      } else if (internal_type_ == Type::int64) {
        value = value_at<std::int64_t>(data, row);
      } else {
        value = static_cast<Wide>(wide_at(data, row));
      }
      return append_wide(out, static_cast<UnsignedWide>(value), true, scale_);
    }
    case Type::text: {
      const std::string_view text = text_at(data, row);
      const std::size_t begin = out.size();
      out += text;
      // A text of JSON may be laid out in lines; a row is one line.
      if (is_json_)
        std::replace_if(
            out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), [](char c) { return c == '\n' || c == '\r'; },
            ' ');
      return;
    }
    case Type::blob:
      out += crypto::base64_encode(text_at(data, row));
      return;
    case Type::date: {
      const auto days = value_at<std::int32_t>(data, row);
      if (days == std::numeric_limits<std::int32_t>::max() || days == -std::numeric_limits<std::int32_t>::max()) {
        out += days > 0 ? "infinity" : "-infinity";
      } else {
        append_date(out, days);
      }
      return;
    }
    case Type::time:
      return append_time(out, value_at<std::int64_t>(data, row), 1'000'000);
    case Type::timestamp:
    case Type::timestamp_tz:
      return append_timestamp(out, value_at<std::int64_t>(data, row), 1'000'000, type_ == Type::timestamp_tz);
    case Type::timestamp_s:
      return append_timestamp(out, value_at<std::int64_t>(data, row), 1, false);
    case Type::timestamp_ms:
      return append_timestamp(out, value_at<std::int64_t>(data, row), 1'000, false);
    case Type::timestamp_ns:
      return append_timestamp(out, value_at<std::int64_t>(data, row), 1'000'000'000, false);
    case Type::uuid:
      return append_uuid(out, wide_at(data, row));
    case Type::enumeration: {
      const std::size_t index = enumeration_index(data, internal_type_, row);
      if (index < names_.size()) out += names_[index];
      return;
    }
    case Type::list:
    case Type::map: {
      const auto entry = value_at<ListEntry>(data, row);
      return append_children(out, api_->list_vector_get_child(vector), entry.offset, entry.length);
    }
    case Type::array:
      return append_children(out, api_->array_vector_get_child(vector), row * array_size_, array_size_);
    case Type::structure:
      out += '{';
      for (std::size_t field = 0; field < children_.size(); ++field) {
        if (field > 0) out += ',';
        append_json_string(out, names_[field]);
        out += ':';
        children_[field].append_json(out, api_->struct_vector_get_child(vector, field), row);
      }
      out += '}';
      return;
    case Type::null:
      break;
  }
  out += "null";
}

void ValueWriter::append_children(std::string& out, VectorHandle vector, Index first, Index count) const {
  out += '[';
  for (Index element = first; element < first + count; ++element) {
    if (element > first) out += ',';
    if (type_ != Type::map) {
      children_.front().append_json(out, vector, element);
      continue;
    }
    out += "{\"key\":";
    children_[0].append_json(out, api_->struct_vector_get_child(vector, 0), element);
    out += ",\"value\":";
    children_[1].append_json(out, api_->struct_vector_get_child(vector, 1), element);
    out += '}';
  }
  out += ']';
}

void ValueWriter::append_json(std::string& out, VectorHandle vector, Index row) const {
  if (type_ == Type::null || !is_valid(*api_, vector, row)) {
    out += "null";
    return;
  }
  const void* const data = api_->vector_get_data(vector);
  if (type_ == Type::text && !is_json_) {
    append_json_string(out, text_at(data, row));
  } else if (is_text()) {
    std::string text;
    append_value(text, data, vector, row);
    append_json_string(out, text);
  } else {
    append_value(out, data, vector, row);
  }
}

void ValueWriter::append_csv(std::string& out, VectorHandle vector, Index row) const {
  if (type_ == Type::null || !is_valid(*api_, vector, row)) return;
  std::string cell;
  append_value(cell, api_->vector_get_data(vector), vector, row);
  if (!cell.empty() && cell.find_first_of("\",\r\n") == std::string::npos) {
    out += cell;
    return;
  }
  out += '"';
  for (const char c : cell) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

}  // namespace octavo::analytics::duckdb

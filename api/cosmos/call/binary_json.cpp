// Binary JSON of the Cosmos DB API, as its clients for Rust and .NET write it: the byte 80, then a value. A value is a
// type byte, and what belongs to the type. Integers are little-endian.
//
//   00…1F         the integers 0 to 31
//   20…3F         one of `dictionary`
//   71 … 7F       a string in a compressed form: compressed_string.cpp
//   80…BF         a string of 0 to 63 bytes
//   C0, C1, C2    a string after its size, in 1, 2, 4 bytes
//   C3 … C6       the string that begins at a position in the body, in 1, 2, 3, 4 bytes
//   C7 … CE       u64, u8, i16, i32, i64, double, float, double
//   D0, D1, D2    null, false, true
//   D7 … DC       u8, i8, i16, i32, i64, u32
//   E0, E1        an array of no value, of one
//   E2, E3, E4    an array after the size of its values, in 1, 2, 4 bytes
//   E5, E6, E7    the same with the size and the count of the values, in as many bytes each
//   E8 … EF       the same for objects: a name, which is a string, before each value
//   F0, F1        an array of numbers: CD, CE or D7 … DC, their count in 1, 2 bytes, and the numbers without types
//   F2, F3        an array of such arrays of one size: F0 or F1 with its type and count, the count of the arrays in as
//                 many bytes, and the numbers of all
//
// Not read, as they are no values of JSON or refer to what a body does not have: 40 … 67 (strings of a dictionary that
// both sides know), CF (16-bit floating point), D3 and DD … DF (UUIDs and bytes).
#include "api/cosmos/call/binary_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "api/cosmos/call/compressed_string.h"
#include "base/json_writer.h"

namespace octavo::api::cosmos {
namespace {

constexpr unsigned char first_byte = 0x80;
constexpr std::size_t growth_max = 8;
constexpr std::size_t text_bytes_min =
    1024;  // the limit of a short body: the names of the dictionary take one byte each
constexpr int depth_max = 256;

constexpr std::array<std::string_view, 32> dictionary{"$s",
                                                      "$t",
                                                      "$v",
                                                      "_attachments",
                                                      "_etag",
                                                      "_rid",
                                                      "_self",
                                                      "_ts",
                                                      "attachments/",
                                                      "coordinates",
                                                      "geometry",
                                                      "GeometryCollection",
                                                      "id",
                                                      "url",
                                                      "Value",
                                                      "label",
                                                      "LineString",
                                                      "link",
                                                      "MultiLineString",
                                                      "MultiPoint",
                                                      "MultiPolygon",
                                                      "name",
                                                      "Name",
                                                      "Type",
                                                      "Point",
                                                      "Polygon",
                                                      "properties",
                                                      "type",
                                                      "value",
                                                      "Feature",
                                                      "FeatureCollection",
                                                      "_id"};

std::unexpected<Error> damaged(std::string_view what) {
  return fail(ErrorCode::bad_request, fmt::format("The request body is damaged binary JSON: {}.", what));
}

class Reader {
 public:
  explicit Reader(std::string_view body)
      : body_(body), end_(body.size()), text_bytes_max_(std::max(body.size() * growth_max, text_bytes_min)) {}

  Expected<std::string> read() {
    at_ = 1;
    OCTAVO_TRY_VOID(value(0));
    if (at_ != end_) return damaged("bytes follow its value");
    return std::move(text_);
  }

 private:
  template <typename Number>
  Expected<Number> number() {
    if (end_ - at_ < sizeof(Number)) return damaged("it ends within a number");
    Number result;
    std::memcpy(&result, body_.data() + at_, sizeof result);
    at_ += sizeof result;
    return result;
  }

  // An unsigned number of one to four bytes.
  Expected<std::size_t> size(std::size_t bytes) {
    if (end_ - at_ < bytes) return damaged("it ends within a size");
    std::size_t result = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      result |= static_cast<std::size_t>(static_cast<unsigned char>(body_[at_ + i])) << (8 * i);
    }
    at_ += bytes;
    return result;
  }

  Expected<std::string_view> bytes(std::size_t count) {
    if (end_ - at_ < count) return damaged("it ends within a string");
    const auto result = body_.substr(at_, count);
    at_ += count;
    return result;
  }

  // The string that begins with this type byte, until the next one is read.
  Expected<std::string_view> string(unsigned char type, bool may_refer) {
    if (type >= 0x20 && type < 0x40) return dictionary[type - 0x20U];
    if (is_compressed_string(type)) {
      auto read = decompress(type, body_.substr(at_, end_ - at_));
      if (!read) return damaged("it ends within a compressed string, or one has an impossible size");
      at_ += read->bytes_used;
      decompressed_ = std::move(read->text);
      return decompressed_;
    }
    if (type >= 0x80 && type < 0xC0) return bytes(type - 0x80U);
    if (type >= 0xC0 && type <= 0xC2) {
      OCTAVO_TRY(const auto count, size(std::size_t{1} << (type - 0xC0U)));
      return bytes(count);
    }
    if (type >= 0xC3 && type <= 0xC6 && may_refer) {
      OCTAVO_TRY(const auto target, size(type - 0xC2U));
      if (target == 0 || target >= body_.size()) return damaged("a string is said to be outside");
      const std::size_t back = std::exchange(at_, target + 1);
      const std::size_t end = std::exchange(end_, body_.size());
      auto found = string(static_cast<unsigned char>(body_[target]), false);
      at_ = back;
      end_ = end;
      return found;
    }
    return fail(
        ErrorCode::bad_request,
        fmt::format("The request body is binary JSON with a value of the type {:#04x}, which is not supported. Send "
                    "the body as text.",
                    type));
  }

  // The number after a type byte, or in an array of numbers of this type.
  Expected<void> number_of(unsigned char type) {
    switch (type) {
      case 0xC7:
        return integer<std::uint64_t>();
      case 0xC8:
        return integer<std::uint8_t>();
      case 0xC9:
        return integer<std::int16_t>();
      case 0xCA:
        return integer<std::int32_t>();
      case 0xCB:
        return integer<std::int64_t>();
      case 0xCC:
      case 0xCE:
        return floating<double>();
      case 0xCD:
        return floating<float>();
      case 0xD7:
        return integer<std::uint8_t>();
      case 0xD8:
        return integer<std::int8_t>();
      case 0xD9:
        return integer<std::int16_t>();
      case 0xDA:
        return integer<std::int32_t>();
      case 0xDB:
        return integer<std::int64_t>();
      case 0xDC:
        return integer<std::uint32_t>();
      default:
        return damaged("an array of numbers has none");
    }
  }

  Expected<void> value(int depth) {
    OCTAVO_TRY(const auto type, number<unsigned char>());
    if (type < 0x20) return write(fmt::to_string(static_cast<unsigned>(type)));
    if ((type >= 0xC7 && type <= 0xCE) || (type >= 0xD7 && type <= 0xDC)) return number_of(type);
    switch (type) {
      case 0xD0:
        return write("null");
      case 0xD1:
        return write("false");
      case 0xD2:
        return write("true");
      case 0xF0:
      case 0xF1:
        return numbers(type);
      case 0xF2:
      case 0xF3:
        return arrays_of_numbers(type);
      default:
        break;
    }
    if (type >= 0xE0 && type <= 0xEF) return container(type, depth);
    OCTAVO_TRY(const auto found, string(type, true));
    return write_string(found);
  }

  template <typename Number>
  Expected<void> integer() {
    OCTAVO_TRY(const auto read, number<Number>());
    return write(fmt::format("{:d}", read));
  }

  template <typename Number>
  Expected<void> floating() {
    OCTAVO_TRY(const auto read, number<Number>());
    if (!std::isfinite(read)) return damaged("a number is infinite or not a number");
    return write(fmt::to_string(static_cast<double>(read)));
  }

  struct NumberArray {
    unsigned char type = 0;  ///< of each number
    std::size_t count = 0;
  };
  // What follows the type byte F0 or F1.
  Expected<NumberArray> number_array(std::size_t count_bytes) {
    NumberArray array;
    OCTAVO_TRY(array.type, number<unsigned char>());
    OCTAVO_TRY(array.count, size(count_bytes));
    const bool is_number = array.type == 0xCD || array.type == 0xCE || (array.type >= 0xD7 && array.type <= 0xDC);
    if (!is_number) return damaged(fmt::format("an array of numbers has values of the type {:#04x}", array.type));
    return array;
  }

  Expected<void> numbers(unsigned char type) {
    OCTAVO_TRY(const auto array, number_array(type - 0xEFU));
    return numbers_of(array);
  }

  Expected<void> numbers_of(const NumberArray& array) {
    OCTAVO_TRY_VOID(write("["));
    for (std::size_t i = 0; i < array.count; ++i) {
      if (i > 0) OCTAVO_TRY_VOID(write(","));
      OCTAVO_TRY_VOID(number_of(array.type));
    }
    return write("]");
  }

  Expected<void> arrays_of_numbers(unsigned char type) {
    const std::size_t count_bytes = type - 0xF1U;
    OCTAVO_TRY(const auto inner, number<unsigned char>());
    if (inner != type - 2) return damaged("an array of arrays of numbers has something else");
    OCTAVO_TRY(const auto array, number_array(count_bytes));
    OCTAVO_TRY(const auto count, size(count_bytes));
    OCTAVO_TRY_VOID(write("["));
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) OCTAVO_TRY_VOID(write(","));
      OCTAVO_TRY_VOID(numbers_of(array));
    }
    return write("]");
  }

  Expected<void> container(unsigned char type, int depth) {
    if (depth >= depth_max) return damaged(fmt::format("it is nested more than {} times", depth_max));
    const bool is_object = type >= 0xE8;
    const unsigned form = type & 7U;  // empty, one value, or the width of the size, and the same with a count
    OCTAVO_TRY_VOID(write(is_object ? "{" : "["));
    if (form == 1) {
      OCTAVO_TRY_VOID(member(is_object, depth));
    } else if (form > 1) {
      const bool has_count = form >= 5;
      const std::size_t width = std::size_t{1} << (form - (has_count ? 5U : 2U));
      OCTAVO_TRY(const auto content, size(width));
      std::size_t count = 0;
      if (has_count) {
        OCTAVO_TRY(count, size(width));
      }
      if (end_ - at_ < content) return damaged("it ends within an array or an object");
      const std::size_t end = std::exchange(end_, at_ + content);
      std::size_t members = 0;
      for (; at_ < end_; ++members) {
        if (members > 0) OCTAVO_TRY_VOID(write(","));
        OCTAVO_TRY_VOID(member(is_object, depth));
      }
      if (has_count && members != count)
        return damaged("an array or an object has another number of values than it says");
      end_ = end;
    }
    return write(is_object ? "}" : "]");
  }

  Expected<void> member(bool named, int depth) {
    if (named) {
      OCTAVO_TRY(const auto type, number<unsigned char>());
      OCTAVO_TRY(const auto name, string(type, true));
      OCTAVO_TRY_VOID(write_string(name));
      OCTAVO_TRY_VOID(write(":"));
    }
    return value(depth + 1);
  }

  Expected<void> write_string(std::string_view text) {
    if (text.size() > text_bytes_max_) return write(text);
    append_json_string(text_, text);
    return write("");
  }

  Expected<void> write(std::string_view text) {
    if (text.size() > text_bytes_max_ || text_.size() > text_bytes_max_ - text.size()) {
      return fail(ErrorCode::too_large,
                  fmt::format("The request body has more than {} bytes as text.", text_bytes_max_));
    }
    text_ += text;
    return {};
  }

  std::string_view body_;
  std::size_t at_ = 0;
  std::size_t end_;  ///< of the innermost array or object
  std::size_t text_bytes_max_;
  std::string text_;
  std::string decompressed_;  ///< the last string that was compressed
};

}  // namespace

bool is_binary_json(std::string_view body) {
  return !body.empty() && static_cast<unsigned char>(body.front()) == first_byte;
}

Expected<std::string> text_of_binary_json(std::string_view body) {
  return Reader(body).read();
}

}  // namespace octavo::api::cosmos

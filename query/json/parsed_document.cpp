#include "query/json/parsed_document.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <string>

#include <boost/json/basic_parser_impl.hpp>
#include <fmt/format.h>

#include "base/json_writer.h"
#include "query/json/internal/scan.h"
#include "query/json/internal/tape.h"
#include "query/json/normalize.h"
#include "query/json/number.h"

namespace octavo::query {

namespace {

using Code = boost::json::error_code;
using Text = boost::json::string_view;

/// simdjson keeps about 14 bytes of buffer for each byte of its largest document; beyond this, the buffers are freed.
constexpr std::size_t kept_bytes_max = 256 * 1024;

/// A text in which each number that simdjson rejects is written as the nearest finite double.
struct PlainText {
  std::string json;
  std::vector<tape::LargeInteger> large_integers;  ///< the integers among them
};

PlainText with_plain_numbers(std::string_view json) {
  PlainText plain;
  std::string& out = plain.json;
  std::size_t numbers = 0;
  out.reserve(json.size() + 64);
  const char* p = json.data();
  const char* const end = p + json.size();
  while (p != end) {
    if (*p == '"') {
      const scan::String string = scan::string(p, end);
      if (string.end == nullptr) return {std::string(json), {}};
      out.append(p, string.end);
      p = string.end;
    } else if (*p == '-' || scan::is_digit(*p)) {
      const char* after = scan::number(p, end);
      if (after == nullptr) return {std::string(json), {}};
      const std::string token(p, after);
      const bool is_integer = is_integer_token(token);
      const auto fits = [&](auto value) {
        return std::from_chars(token.data(), token.data() + token.size(), value).ec == std::errc{};
      };
      if (is_integer && (token.size() < 19 || (token[0] != '-' && fits(std::uint64_t{})) || fits(std::int64_t{}))) {
        out.append(token);
      } else {
        fmt::format_to(std::back_inserter(out), "{:.17e}", nearest_double(token));
        if (is_integer) {
          plain.large_integers.push_back({numbers, token});
        }
      }
      ++numbers;
      p = after;
    } else {
      out.push_back(*p++);
    }
  }
  return plain;
}

/// Builds a boost::json::value as boost::json::parse does, but reads doubles exactly: Boost's own result can be wrong
/// in the last digits, or not a number at all (0e400), and would then not equal the same number in a document.
class ValueBuilder {
 public:
  static constexpr std::size_t max_object_size = boost::json::object::max_size();
  static constexpr std::size_t max_array_size = boost::json::array::max_size();
  static constexpr std::size_t max_key_size = boost::json::string::max_size();
  static constexpr std::size_t max_string_size = boost::json::string::max_size();

  explicit ValueBuilder(LargeIntegers integers) : integers_(integers) {}

  boost::json::value release() { return stack_.release(); }

  bool on_document_begin(Code&) {
    stack_.reset();
    return true;
  }
  bool on_document_end(Code&) { return true; }
  bool on_object_begin(Code&) { return true; }
  bool on_object_end(std::size_t count, Code&) {
    stack_.push_object(count);
    return true;
  }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(std::size_t count, Code&) {
    stack_.push_array(count);
    return true;
  }
  bool on_key_part(Text part, std::size_t, Code&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_key(Text part, std::size_t, Code&) {
    stack_.push_key(part);
    return true;
  }
  bool on_string_part(Text part, std::size_t, Code&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_string(Text part, std::size_t, Code&) {
    stack_.push_string(part);
    return true;
  }
  bool on_number_part(Text, Code&) { return true; }
  bool on_int64(std::int64_t value, Text, Code&) {
    stack_.push_int64(value);
    return true;
  }
  bool on_uint64(std::uint64_t value, Text, Code&) {
    stack_.push_uint64(value);
    return true;
  }
  // The text comes in one piece, and so does every number.
  bool on_double(double, Text text, Code&) {
    if (integers_ == LargeIntegers::exact && is_integer_token({text.data(), text.size()})) {
      const std::string marked = large_integer_mark + std::string(text.data(), text.size());
      stack_.push_string(marked);
      return true;
    }
    stack_.push_double(nearest_double({text.data(), text.size()}));
    return true;
  }
  bool on_bool(bool value, Code&) {
    stack_.push_bool(value);
    return true;
  }
  bool on_null(Code&) {
    stack_.push_null();
    return true;
  }
  bool on_comment_part(Text, Code&) { return true; }
  bool on_comment(Text, Code&) { return true; }

 private:
  LargeIntegers integers_;
  boost::json::value_stack stack_;
};

void append_readable(std::string& out, const boost::json::value& value) {
  switch (value.kind()) {
    case boost::json::kind::double_:
      // JSON has no infinity: Boost writes a number that is read as one.
      out += std::isfinite(value.get_double()) ? fmt::format("{}", value.get_double()) : boost::json::serialize(value);
      return;
    case boost::json::kind::array:
      out += '[';
      for (const auto& element : value.get_array()) {
        if (&element != &value.get_array().front()) out += ',';
        append_readable(out, element);
      }
      out += ']';
      return;
    case boost::json::kind::object:
      out += '{';
      for (const auto& member : value.get_object()) {
        append_json_key(out, member.key());
        append_readable(out, member.value());
      }
      out += '}';
      return;
    default:
      out += serialize_json(value);
  }
}

}  // namespace

double nearest_double(std::string_view token) {
  double value = 0;
  if (std::from_chars(token.data(), token.data() + token.size(), value).ec == std::errc{}) return value;
  // Out of range: from_chars does not say on which side.
  constexpr double largest = std::numeric_limits<double>::max();
  return std::clamp(std::strtod(std::string(token).c_str(), nullptr), -largest, largest);
}

std::optional<std::int64_t> whole_number(std::string_view json) {
  if (json.empty() || (json[0] != '-' && !scan::is_digit(json[0]))) return std::nullopt;
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr double beyond = 9223372036854775808.0;  // 2^63
  const double value = nearest_double(json);
  if (value != std::floor(value)) return std::nullopt;
  if (std::abs(value) >= beyond) return value < 0 ? Limits::min() : Limits::max();
  return static_cast<std::int64_t>(value);
}

Expected<simdjson::dom::element> DocumentParser::parse(std::string_view json) {
  if (parser_.capacity() > kept_bytes_max && json.size() <= kept_bytes_max) {
    parser_ = simdjson::dom::parser();
    padded_ = {};
    digits_ = {};
  }
  const auto load = [&](std::string_view text) {
    if (padded_.size() < text.size() + simdjson::SIMDJSON_PADDING) {
      padded_.resize(std::max(text.size() + simdjson::SIMDJSON_PADDING, padded_.size() * 2));
    }
    std::memcpy(padded_.data(), text.data(), text.size());
    std::memset(padded_.data() + text.size(), 0, simdjson::SIMDJSON_PADDING);
  };
  load(json);
  simdjson::dom::element root;
  auto error = parser_.parse(padded_.data(), json.size(), false).get(root);
  if (error == simdjson::NUMBER_ERROR) {
    PlainText plain = with_plain_numbers(json);
    load(plain.json);
    error = parser_.parse(padded_.data(), plain.json.size(), false).get(root);
    if (error == simdjson::SUCCESS && integers_ == LargeIntegers::exact) {
      digits_ = tape::list_of(parser_.doc, plain.large_integers);
      tape::attach(parser_.doc, digits_);
    }
  }
  // Not the document's fault: code that skips damaged documents, such as an index, must not skip this one.
  if (error == simdjson::MEMALLOC) {
    // The parser would use the memory that it failed to allocate next time, and write through null.
    parser_ = simdjson::dom::parser();
    throw std::bad_alloc();
  }
  if (error != simdjson::SUCCESS) {
    return fail(ErrorCode::corrupted, fmt::format("stored text is not JSON: {}", simdjson::error_message(error)));
  }
  return root;
}

Expected<boost::json::value> parse_json(std::string_view text, LargeIntegers integers) {
  boost::json::parse_options options;
  options.max_depth = json_depth_max;
  boost::json::basic_parser<ValueBuilder> parser(options, integers);
  Code error;
  const std::size_t parsed = parser.write_some(false, text.data(), text.size(), error);
  if (!error && parsed < text.size()) error = boost::json::error::extra_data;
  if (error) {
    // Boost does not say where the error is; the normalizer does.
    std::string unused;
    if (auto checked = normalize_value(text, unused); !checked) return std::unexpected(std::move(checked).error());
    return fail(ErrorCode::bad_request, fmt::format("invalid UTF-8 JSON: {}", error.message()));
  }
  return parser.handler().release();
}

std::string text_member(const boost::json::object& object, std::string_view name) {
  const auto* member = object.if_contains(name);
  return member != nullptr && member->is_string() ? std::string(member->get_string()) : std::string();
}

std::string readable_json(const boost::json::value& value) {
  std::string text;
  append_readable(text, value);
  return text;
}

}  // namespace octavo::query

#include "query/json/parsed_document.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "query/json/internal/scan.h"
#include "query/json/normalize.h"

namespace octavo::query {

namespace {

/// simdjson keeps about 14 bytes of buffer for each byte of its largest document; past this they are given back.
constexpr std::size_t kept_bytes_max = 256 * 1024;

/// The same text with each number that simdjson refuses written as the nearest finite double.
std::string with_plain_numbers(std::string_view json) {
  std::string out;
  out.reserve(json.size() + 64);
  const char* p = json.data();
  const char* const end = p + json.size();
  while (p != end) {
    if (*p == '"') {
      const scan::String string = scan::string(p, end);
      if (string.end == nullptr) return std::string(json);
      out.append(p, string.end);
      p = string.end;
    } else if (*p == '-' || scan::is_digit(*p)) {
      const char* after = scan::number(p, end);
      if (after == nullptr) return std::string(json);
      const std::string token(p, after);
      const bool is_integer = token.find_first_of(".eE") == std::string::npos;
      if (is_integer && token.size() < 19) {
        out.append(token);
      } else if (std::uint64_t value = 0;
                 is_integer && token[0] != '-' &&
                 std::from_chars(token.data(), token.data() + token.size(), value).ec == std::errc{}) {
        out.append(token);
      } else if (std::int64_t negative = 0;
                 is_integer && std::from_chars(token.data(), token.data() + token.size(), negative).ec == std::errc{}) {
        out.append(token);
      } else {
        constexpr double largest = std::numeric_limits<double>::max();
        fmt::format_to(std::back_inserter(out), "{:.17e}",
                       std::clamp(std::strtod(token.c_str(), nullptr), -largest, largest));
      }
      p = after;
    } else {
      out.push_back(*p++);
    }
  }
  return out;
}

}  // namespace

Expected<simdjson::dom::element> DocumentParser::parse(std::string_view json) {
  if (parser_.capacity() > kept_bytes_max && json.size() <= kept_bytes_max) {
    parser_ = simdjson::dom::parser();
    padded_ = {};
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
    const std::string plain = with_plain_numbers(json);
    load(plain);
    error = parser_.parse(padded_.data(), plain.size(), false).get(root);
  }
  if (error != simdjson::SUCCESS) {
    return fail(ErrorCode::corrupted, fmt::format("stored text is not JSON: {}", simdjson::error_message(error)));
  }
  return root;
}

Expected<boost::json::value> parse_json(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = json_depth_max;
  boost::json::error_code error;
  auto value = boost::json::parse(boost::json::string_view(text.data(), text.size()), error, {}, options);
  if (error) return fail(ErrorCode::bad_request, fmt::format("invalid UTF-8 JSON: {}", error.message()));
  return value;
}

}  // namespace octavo::query

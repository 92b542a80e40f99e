#include "api/http/request.h"

#include <algorithm>
#include <array>

#include "base/ascii_case.h"
#include "base/assert.h"
#include "base/encoding.h"

namespace octavo::api {
namespace {

// Decodes into `out`, reusing its capacity: a keep-alive connection decodes every request into the same strings.
bool decode_into(std::string_view text, bool plus_is_space, std::string& out) {
  if (text.find('%') == std::string_view::npos && (!plus_is_space || text.find('+') == std::string_view::npos)) {
    out.assign(text);
    return true;
  }
  out.clear();
  // Most characters are not encoded: the text between two `%` is copied at once.
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find('%'), text.size());
    const std::size_t begin = out.size();
    out += text.substr(0, plain);
    if (plus_is_space) std::replace(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), '+', ' ');
    text.remove_prefix(plain);
    if (text.empty()) break;
    if (text.size() < 3) return false;
    const int high = crypto::hex_value(text[1]);
    const int low = crypto::hex_value(text[2]);
    if (high < 0 || low < 0) return false;
    out += static_cast<char>(high * 16 + low);
    text.remove_prefix(3);
  }
  return true;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

// The next element of `list`, which grows if necessary. Elements keep their capacity between requests.
template <class T>
T& next_element(std::vector<T>& list, std::size_t& used) {
  if (used == list.size()) list.emplace_back();
  return list[used++];
}

bool parse_path(std::string_view path, bool plus_is_space, std::vector<std::string>& segments) {
  std::size_t used = 0;
  while (!path.empty()) {
    const auto slash = path.find('/');
    const auto segment = path.substr(0, slash);
    if (!segment.empty()) {
      if (used == target_parts_max) return false;
      if (!decode_into(segment, plus_is_space, next_element(segments, used))) return false;
    }
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  segments.resize(used);
  return true;
}

bool parse_query(std::string_view text, std::vector<QueryParameter>& parameters) {
  std::size_t used = 0;
  while (!text.empty()) {
    const auto ampersand = text.find('&');
    const auto pair = text.substr(0, ampersand);
    if (!pair.empty()) {
      const auto equals = pair.find('=');
      if (used == target_parts_max) return false;
      auto& parameter = next_element(parameters, used);
      if (!decode_into(pair.substr(0, equals), true, parameter.name)) return false;
      const auto value = equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
      if (!decode_into(value, true, parameter.value)) return false;
    }
    if (ampersand == std::string_view::npos) break;
    text.remove_prefix(ampersand + 1);
  }
  parameters.resize(used);
  return true;
}

}  // namespace

std::string_view to_string(Method method) {
  static constexpr std::array<std::string_view, 9> names{"GET",  "HEAD",    "POST",  "PUT",  "DELETE",
                                                         "COPY", "OPTIONS", "PATCH", "OTHER"};
  return names[static_cast<std::size_t>(method)];
}

std::optional<std::string_view> Request::parameter(std::string_view name) const {
  const auto found = std::find_if(query.rbegin(), query.rend(), [&](const auto& one) { return one.name == name; });
  if (found == query.rend()) return std::nullopt;
  return found->value;
}

std::size_t Request::target_bytes() const {
  std::size_t bytes = segments.capacity() * sizeof(std::string) + query.capacity() * sizeof(QueryParameter);
  for (const auto& segment : segments) bytes += segment.capacity();
  for (const auto& parameter : query) bytes += parameter.name.capacity() + parameter.value.capacity();
  return bytes;
}

void Request::release_target() {
  segments = {};
  query = {};
}

std::string base_url(const Request& request) {
  const bool https =
      request.header("X-Forwarded-Ssl") == "on" || request.header("X-Forwarded-Proto") == "https" || request.tls;
  auto host = request.header("X-Forwarded-Host");
  if (!host) host = request.header("Host");
  return (https ? "https://" : "http://") + std::string(host.value_or("localhost"));
}

bool prefers(const Request& request, std::string_view preference) {
  std::string_view rest = request.header("Prefer").value_or("");
  while (!rest.empty()) {
    std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    one = one.substr(0, one.find(';'));
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (equals_ignoring_case(one, preference)) return true;
  }
  return false;
}

bool parse_target(std::string_view target, Request& request) {
  if (target.empty() || target.front() != '/') return false;
  if (std::any_of(target.begin(), target.end(), is_control)) return false;
  // A correct client never sends a fragment; if one is sent, it is ignored.
  const auto without_fragment = target.substr(0, target.find('#'));
  const auto question = without_fragment.find('?');
  request.target = target;
  request.raw_path = without_fragment.substr(0, question);
  const auto query = question == std::string_view::npos ? std::string_view{} : without_fragment.substr(question + 1);
  return parse_path(request.raw_path, false, request.segments) && parse_query(query, request.query);
}

void read_plus_as_space(Request& request) {
  if (request.raw_path.find('+') == std::string_view::npos) return;
  const bool parsed = parse_path(request.raw_path, true, request.segments);
  OCTAVO_ASSERT(parsed);  // parse_target has accepted this path
}

std::string_view trim_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  if (!decode_into(text, plus_is_space, out)) return std::nullopt;
  return out;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                            c == '.' || c == '_' || c == '~';
    if (unreserved) {
      out.push_back(c);
    } else {
      crypto::append_percent_encoded(out, c);
    }
  }
  return out;
}

}  // namespace octavo::api

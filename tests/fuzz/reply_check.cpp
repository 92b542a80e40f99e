#include "fuzz/reply_check.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>

#include "fuzz/target.h"
#include "query/json/normalize.h"

namespace octavo::fuzz {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_json(std::string_view text) {
  std::string out;
  return query::normalize_value(text, out).has_value();
}

/// One JSON value, or, in a continuous feed, one on each line with empty lines between.
bool is_json_or_lines(std::string_view text) {
  if (is_json(text)) return true;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (!line.empty() && !is_json(line)) return false;
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
  return true;
}

struct Head {
  std::uint64_t status = 0;
  std::optional<std::uint64_t> content_length;
  bool chunked = false;
  bool json = false;
  bool coded = false;
};

class Reader {
 public:
  explicit Reader(std::string_view received) : rest_(received) {}
  bool at_end() const { return rest_.empty(); }

  /// False when the rest is the cut-off beginning of a head.
  bool head(Head& head) {
    const std::size_t end = rest_.find("\r\n\r\n");
    if (end == std::string_view::npos) return false;
    std::string_view lines = rest_.substr(0, end);
    rest_.remove_prefix(end + 4);
    const std::string_view status_line = take_line(lines);
    require(status_line.starts_with("HTTP/1.1 ") && status_line.size() >= 12, "a reply begins with a status line");
    const auto status = number(status_line.substr(9, 3), 10);
    require(status && *status >= 100 && *status < 600, "with a status");
    head.status = *status;
    while (!lines.empty()) field(take_line(lines), head);
    require(!head.chunked || !head.content_length, "a body has one length");
    return true;
  }

  /// False when the body is cut off.
  bool body(const Head& head, bool none, std::string& out) {
    if (none) return true;
    if (head.chunked) return chunks(out);
    if (!head.content_length) {
      out = rest_;
      rest_ = {};
      return true;
    }
    if (*head.content_length > rest_.size()) return false;
    out = rest_.substr(0, *head.content_length);
    rest_.remove_prefix(out.size());
    return true;
  }

 private:
  static std::string_view take_line(std::string_view& lines) {
    const std::size_t end = lines.find("\r\n");
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 2);
    require(std::ranges::none_of(line, [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; }),
            "no control character in a head");
    return line;
  }

  static void field(std::string_view line, Head& head) {
    const std::size_t colon = line.find(": ");
    require(colon != std::string_view::npos && colon > 0, "a header has a name and a value");
    const std::string name = lower(line.substr(0, colon));
    require(name.find(' ') == std::string::npos, "a header's name is a token");
    const std::string_view value = line.substr(colon + 2);
    if (name == "content-length") {
      require(!head.content_length, "one length");
      head.content_length = number(value, 10);
      require(head.content_length.has_value(), "a length is a number");
    } else if (name == "transfer-encoding") {
      require(value == "chunked", "chunks are the only coding");
      head.chunked = true;
    } else if (name == "content-type") {
      head.json = value.starts_with("application/json");
    } else if (name == "content-encoding") {
      head.coded = true;
    }
  }

  bool chunks(std::string& out) {
    while (true) {
      const std::size_t end = rest_.find("\r\n");
      if (end == std::string_view::npos) return false;
      const auto size = number(rest_.substr(0, end), 16);
      require(size.has_value(), "a chunk has a size");
      rest_.remove_prefix(end + 2);
      if (*size + 2 > rest_.size()) return false;
      out += rest_.substr(0, *size);
      rest_.remove_prefix(*size);
      require(rest_.starts_with("\r\n"), "a chunk ends where it says");
      rest_.remove_prefix(2);
      if (*size == 0) return true;
    }
  }

  std::string_view rest_;
};

}  // namespace

void check_replies(std::string_view received, const std::vector<ExpectedReply>& expected) {
  Reader reader(received);
  std::size_t replies = 0;
  while (!reader.at_end()) {
    Head head;
    if (!reader.head(head)) return;
    if (head.status == 100) continue;
    require(replies < expected.size(), "no more replies than requests");
    const ExpectedReply& request = expected[replies++];
    require(head.status != 500, "no request is an internal error");
    // A refused HEAD request has no body, and only the connection knew that it was one.
    const bool refused_head = !request.method && reader.at_end();
    const bool none = request.method == api::Method::head || refused_head || head.status == 204 || head.status == 304;
    std::string body;
    if (!reader.body(head, none, body)) return;
    if (head.json && !head.coded && !none) require(is_json_or_lines(body), "what is called JSON is JSON");
  }
}

}  // namespace octavo::fuzz

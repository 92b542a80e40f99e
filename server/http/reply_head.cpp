#include "server/http/reply_head.h"

#include <array>
#include <charconv>

#include <boost/beast/http/status.hpp>

#include "base/ascii_case.h"

namespace octavo::server {
namespace {

enum class Own : std::uint8_t { no, content_length, coded, connection, dropped };

// The length distinguishes nearly all names before a byte is compared.
Own classify(std::string_view name) {
  switch (name.size()) {
    case 4:
      return equals_ignoring_case(name, "Date") ? Own::dropped : Own::no;
    case 6:
      return equals_ignoring_case(name, "Server") ? Own::dropped : Own::no;
    case 10:
      return equals_ignoring_case(name, "Connection") ? Own::connection : Own::no;
    case 13:
      return equals_ignoring_case(name, "Content-Range") ? Own::coded : Own::no;
    case 14:
      return equals_ignoring_case(name, "Content-Length") ? Own::content_length : Own::no;
    case 16:
      return equals_ignoring_case(name, "Content-Encoding") ? Own::coded : Own::no;
    case 17:
      return equals_ignoring_case(name, "Transfer-Encoding") ? Own::dropped : Own::no;
    default:
      return Own::no;
  }
}

constexpr std::array<bool, 256> token_characters = [] {
  std::array<bool, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (int c = '0'; c <= '9'; ++c) table[static_cast<std::size_t>(c)] = true;
  for (const char c : std::string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

bool is_token(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (!token_characters[static_cast<unsigned char>(c)]) return false;
  }
  return true;
}

bool breaks_line(std::string_view value) {
  for (const char c : value) {
    if (c == '\r' || c == '\n' || c == '\0') return true;
  }
  return false;
}

void append_number(std::uint64_t number, std::string& out) {
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

void append_status_line(int status, std::string& out) {
  if (status == 200) {
    out.append("HTTP/1.1 200 OK\r\n");
    return;
  }
  const auto reason = boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
  out.append("HTTP/1.1 ");
  append_number(static_cast<std::uint64_t>(status), out);
  out.push_back(' ');
  out.append(reason.data(), reason.size());
  out.append("\r\n");
}

}  // namespace

bool status_has_body(int status) {
  return status != 204 && status != 304 && status >= 200;
}

ReplyFacts examine(const api::Reply& reply) {
  ReplyFacts facts;
  facts.well_formed = !breaks_line(reply.content_type) && reply.status >= 200 && reply.status <= 599;
  for (const auto& [name, value] : reply.headers) {
    if (!is_token(name) || breaks_line(value)) facts.well_formed = false;
    switch (classify(name)) {
      case Own::coded:
        facts.coded = true;
        break;
      case Own::connection:
        facts.close = facts.close || equals_ignoring_case(value, "close");
        break;
      case Own::content_length: {
        std::uint64_t length = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), length);
        if (error == std::errc{} && end == value.data() + value.size()) facts.content_length = length;
        break;
      }
      default:
        break;
    }
  }
  return facts;
}

void append_head(const api::Reply& reply, const ReplyFrame& frame, std::string& out) {
  append_status_line(reply.status, out);
  out.append(frame.common_headers);
  out.append("X-Couch-Request-ID: ");
  out.append(frame.request_id);
  if (!frame.echoed_id.empty()) {
    out.append("\r\nX-Request-Id: ");
    out.append(frame.echoed_id);
  }
  if (!reply.content_type.empty() && frame.framing != Framing::none) {
    out.append("\r\nContent-Type: ");
    out.append(reply.content_type);
  }
  for (const auto& [name, value] : reply.headers) {
    const auto own = classify(name);
    if (own != Own::no && own != Own::coded) continue;
    out.append("\r\n");
    out.append(name);
    out.append(": ");
    out.append(value);
  }
  out.append(reply.header_lines);
  if (frame.coding != ContentCoding::identity) {
    out.append("\r\nContent-Encoding: ");
    out.append(to_string(frame.coding));
  }
  if (frame.vary) out.append("\r\nVary: Accept-Encoding");
  if (frame.framing == Framing::length) {
    out.append("\r\nContent-Length: ");
    append_number(frame.content_length, out);
  } else if (frame.framing == Framing::chunked) {
    out.append("\r\nTransfer-Encoding: chunked");
  }
  if (!frame.keep_alive) {
    out.append("\r\nConnection: close");
  } else if (!frame.http_1_1) {
    out.append("\r\nConnection: keep-alive");
  }
  out.append("\r\n\r\n");
}

}  // namespace octavo::server

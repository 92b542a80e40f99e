#include "server/http/head_scanner.h"

namespace octavo::server {

HeadScanner::Result HeadScanner::scan(ReadBuffer& in, std::size_t head_bytes_max) {
  if (head_bytes_ != 0) return Result::complete;
  // Empty lines before a request line must be ignored (RFC 9112 §2.2).
  while (in.data().starts_with("\r\n")) {
    in.consume(2);
    scanned_ = 0;
  }
  const auto data = in.data();
  if (data.empty() || data == "\r") return Result::incomplete;
  const auto from = scanned_ >= 3 ? scanned_ - 3 : 0;
  const auto end = data.substr(0, head_bytes_max).find("\r\n\r\n", from);
  if (end != std::string_view::npos) {
    head_bytes_ = end + 4;
    return Result::complete;
  }
  if (data.size() >= head_bytes_max) {
    const bool long_target = data.substr(0, head_bytes_max).find('\n') == std::string_view::npos;
    return long_target ? refuse(414, "The request target is too long.") : refuse(431, "The request head is too large.");
  }
  // Input that cannot become a request (TLS on the plain port, bare line feeds) is refused now, not by the timeout.
  if (data.front() < 'A' || data.front() > 'z') return refuse(400, "This is not an HTTP request.");
  for (auto feed = data.find('\n', from); feed != std::string_view::npos; feed = data.find('\n', feed + 1)) {
    if (feed == 0 || data[feed - 1] != '\r') return refuse(400, "Header lines must end with CR LF.");
  }
  scanned_ = data.size();
  return Result::incomplete;
}

void HeadScanner::restart() {
  head_bytes_ = 0;
  scanned_ = 0;
}

HeadScanner::Result HeadScanner::refuse(int status, std::string_view reason) {
  refusal_ = Refusal{status, std::string(reason)};
  return Result::refused;
}

}  // namespace octavo::server

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/reply.h"
#include "server/http/compression.h"

namespace octavo::server {

/// How the end of a reply's body is marked.
enum class Framing : std::uint8_t {
  none,         ///< the status has no body (204, 304)
  length,       ///< Content-Length
  chunked,      ///< HTTP/1.1 streams
  until_close,  ///< HTTP/1.0 streams
};

/// What the connection must know about a handler's reply and headers.
struct ReplyFacts {
  bool well_formed = true;  ///< every name is a token and no value contains CR, LF or NUL
  bool coded = false;       ///< has Content-Encoding or Content-Range: must not be compressed
  bool close = false;       ///< has `Connection: close`
  std::optional<std::uint64_t> content_length;
};
ReplyFacts examine(const api::Reply& reply);

/// The connection's part of a reply head.
struct ReplyFrame {
  Framing framing = Framing::length;
  std::uint64_t content_length = 0;
  ContentCoding coding = ContentCoding::identity;
  bool vary = false;  ///< the coding depends on Accept-Encoding
  bool keep_alive = true;
  bool http_1_1 = true;
  std::string_view common_headers;  ///< Server and Date, each with its line end
  std::string_view request_id;
  std::string_view echoed_id;  ///< the client's own X-Request-Id; empty: none
};

/// Appends the head of `reply` with its empty line. Drops handler headers that the connection sets (framing,
/// Connection, Date, Server).
void append_head(const api::Reply& reply, const ReplyFrame& frame, std::string& out);

/// Whether replies with this status have a body.
bool status_has_body(int status);

}  // namespace octavo::server

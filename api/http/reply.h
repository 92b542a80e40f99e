#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/task.h"

namespace octavo::api {

/// Where a streamed body goes. Implemented by the connection, which frames (chunked), compresses and applies
/// back-pressure: `write` returns when the bytes are handed to the kernel, so memory does not grow with the reply.
class BodySink {
 public:
  virtual ~BodySink() = default;
  /// Sends `bytes` now. False when the client is gone or too slow: the producer must stop.
  virtual Task<bool> write(std::string_view bytes) = 0;
  /// True as soon as the connection knows that nobody listens any more (connection lost, server shutting down; with an
  /// on_closed callback also when the peer has finished sending).
  /// For producers that wait for events and should end then. A producer with a bounded result looks only at what
  /// `write` returns: during a shutdown it may still finish.
  virtual bool closed() const = 0;
  /// `callback` is posted once to the connection's thread when closed() becomes true (at once if it is already), so
  /// that a producer waiting for something else wakes up. Replaces an earlier one; empty: no callback any more. Dropped
  /// when the stream ends, so it may refer to what the producer owns only if it also holds it (shared_ptr).
  virtual void on_closed(std::move_only_function<void()> callback) = 0;
};

/// Produces a streamed body. Runs after the reply head was sent, on the connection's thread; when it returns, the
/// body ends. It owns all that it needs but the Request, which outlives it. A thrown exception aborts the connection,
/// so that the client sees a broken body and not a short one. For HEAD it is never run.
using BodyStream = std::move_only_function<Task<void>(BodySink&)>;

/// What a handler answers. Content-Length or chunked framing, Date, Server, X-Couch-Request-ID-like identifiers,
/// compression and HEAD are the connection's business. A handler that sets Content-Length beside a `stream` of exactly
/// that many bytes (attachments) gets them unframed; one that sets Content-Encoding or Content-Range is not compressed.
struct Reply {
  int status = 200;
  std::string_view content_type = "application/json";        ///< a literal; empty: no Content-Type
  std::vector<std::pair<std::string, std::string>> headers;  ///< values are checked for CR/LF by the connection
  /// More header lines, each `\r\nName: value`, sent as they are: for handlers with many of them, which answer for
  /// their form. None of those that the connection decides or looks at.
  std::string header_lines;
  std::string body;
  BodyStream stream;     ///< when set, `body` is sent first, then the stream
  bool close = false;    ///< close the connection after this reply
  std::string log_user;  ///< authenticated name for the access log; empty: none
};

}  // namespace octavo::api

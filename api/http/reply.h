#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/task.h"

namespace octavo::api {

/// Receives a streamed body. Implemented by the connection, which frames (chunked), compresses and applies
/// back-pressure: `write` returns when the kernel has accepted the bytes, so memory does not grow with the reply.
class BodySink {
 public:
  virtual ~BodySink() = default;
  /// Sends `bytes` now. Returns false if the client is gone or too slow: the producer must stop.
  virtual Task<bool> write(std::string_view bytes) = 0;
  /// True as soon as the connection knows that the stream should end: connection lost, server shutting down, or (with
  /// an on_closed callback) the peer has finished sending.
  /// For producers that wait for events. A producer with a bounded result checks only what `write` returns: during a
  /// shutdown it may still finish.
  virtual bool closed() const = 0;
  /// `callback` is posted once to the connection's thread when closed() becomes true (at once if it is already), so
  /// that a producer waiting for something else wakes up. Replaces an earlier one; empty: removes it. Destroyed when
  /// the stream ends, so it may refer to the producer's objects only if it co-owns them (shared_ptr).
  virtual void on_closed(std::move_only_function<void()> callback) = 0;
};

/// Produces a streamed body. Runs after the reply head was sent, on the connection's thread; when it returns, the
/// body ends. It must own everything that it uses except the Request, which outlives it. A thrown exception aborts the
/// connection, so that the client sees a broken body and not a short one. Never run for HEAD.
using BodyStream = std::move_only_function<Task<void>(BodySink&)>;

/// A handler's reply. The connection adds Content-Length or chunked framing, Date, Server and identifiers like
/// X-Couch-Request-ID, and does compression and HEAD. A `stream` with a Content-Length header (attachments) must have
/// exactly that many bytes and is sent unframed. A reply with Content-Encoding or Content-Range is not compressed.
struct Reply {
  int status = 200;
  std::string_view content_type = "application/json";        ///< a literal; empty: no Content-Type
  std::vector<std::pair<std::string, std::string>> headers;  ///< values are checked for CR/LF by the connection
  /// More header lines, each `\r\nName: value`, sent unchecked: for handlers with many headers, which ensure that they
  /// are well formed. Must not contain headers that the connection sets or reads.
  std::string header_lines;
  std::string body;
  BodyStream stream;     ///< when set, `body` is sent first, then the stream
  bool close = false;    ///< close the connection after this reply
  std::string log_user;  ///< authenticated name for the access log; empty: none
};

}  // namespace octavo::api

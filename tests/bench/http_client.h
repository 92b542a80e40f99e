#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/reply_parser.h"

namespace octavo::bench {

/// A connected loopback TCP socket. Throws std::runtime_error when it cannot connect.
int connect_loopback(std::uint16_t port);

struct HttpReply {
  int status = 0;
  std::string body;
};

/// One keep-alive connection with blocking calls: for setting up, for feeds, for single long replies.
/// Throws std::runtime_error when the connection breaks. Not thread-safe.
class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  HttpReply request(std::string_view method, std::string_view target, std::string_view body = {});
  /// Does the same as request(), and throws when the status differs.
  HttpReply expect(int status, std::string_view method, std::string_view target, std::string_view body = {});

  /// The two halves of request(), to have a call under way while doing something else.
  void send(std::string_view method, std::string_view target, std::string_view body = {});
  HttpReply receive();
  /// Reads the reply without keeping it: bytes of its body.
  std::uint64_t receive_and_count();

  /// For a continuous feed, after send(): the next body bytes that contain `text`. Waits at most `timeout_ms` for each
  /// read.
  void receive_until(std::string_view text, int timeout_ms);

 private:
  template <class Stop>
  void read_while(Stop&& more, const ReplyParser::BodySink* sink);

  int socket_;
  ReplyParser parser_;
  std::string unparsed_;
  std::string streamed_;
};

/// The request as it goes over the wire; used by the load generator too.
void append_request(std::string& out, std::string_view method, std::string_view target, std::string_view body = {});

}  // namespace octavo::bench

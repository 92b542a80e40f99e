#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace octavo::bench {

/// Reads HTTP/1.1 replies as their bytes arrive; just enough of the protocol to be cheap beside the server it measures.
/// Not thread-safe. One reply at a time: call reset() after each.
class ReplyParser {
 public:
  using BodySink = std::function<void(std::string_view)>;

  /// Takes what it can of `bytes` and returns how many bytes that were. Stops at the end of the reply.
  std::size_t feed(std::string_view bytes, const BodySink* sink = nullptr);

  bool done() const { return state_ == State::done; }
  bool malformed() const { return state_ == State::malformed; }
  int status() const { return status_; }
  std::uint64_t body_bytes() const { return body_bytes_; }
  void reset();

 private:
  enum class State : std::uint8_t { head, body, chunk_size, chunk_data, chunk_end, trailer, done, malformed };

  void parse_head();
  /// Collects a line without its CRLF in `buffer_`; true when it is complete.
  bool take_line(std::string_view bytes, std::size_t& used);

  State state_ = State::head;
  std::string buffer_;
  std::uint64_t remaining_ = 0;
  std::uint64_t body_bytes_ = 0;
  int status_ = 0;
};

}  // namespace octavo::bench

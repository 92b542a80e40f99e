#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/task.h"
#include "server/connection/body_turns.h"
#include "server/connection/channel.h"
#include "server/connection/counted_bytes.h"
#include "server/connection/reply_writer.h"
#include "server/http/compression.h"
#include "server/http/header_fields.h"
#include "server/http/request_parser.h"

namespace octavo::server {

/// Reads the bodies of a connection's requests: sized, chunked, compressed, with limits checked as they arrive. A body
/// that needs no decoding is read behind its head into the channel's buffer and is never copied.
class BodyReader {
 public:
  /// `fields` and `head` are those of the present request. All must outlive this.
  BodyReader(Channel& channel, ReplyWriter& writer, HeaderFields& fields, RequestHead& head);
  BodyReader(const BodyReader&) = delete;
  BodyReader& operator=(const BodyReader&) = delete;

  /// The head of a request, which is at the start of the buffer, was parsed.
  void begin(std::size_t head_bytes);
  /// The common case: no body, or one that came with its head and needs no decoding. False: it must be read.
  bool take_if_here();
  /// False: the client left, or refusal() tells why the body is refused.
  Task<bool> read();
  const std::optional<Refusal>& refusal() const { return refusal_; }

  /// The whole body, while the buffer does not change.
  std::string_view body() const;
  /// Bytes of the buffer that belong to the request: its head, and the body unless it was decoded.
  std::size_t request_bytes() const { return request_bytes_; }
  /// The body's part of BodyBytes::held.
  std::uint64_t bytes_held() const { return bytes_held_.bytes(); }
  /// The request is done.
  void release();
  /// Frees the memory that is kept for the next body.
  void release_memory() { decoded_ = {}; }

 private:
  Task<bool> read_sized();
  Task<bool> read_chunked();
  Task<bool> decompress(ContentCoding coding);
  Task<bool> read_more(std::size_t bytes_min, std::size_t bytes_left);
  Task<bool> send_continue();
  bool refuse(int status, std::string_view reason);
  void make_room();
  bool charge(std::size_t bytes);

  Channel& channel_;
  ReplyWriter& writer_;
  HeaderFields& fields_;
  RequestHead& head_;
  std::size_t head_bytes_ = 0;
  std::size_t request_bytes_ = 0;
  std::string decoded_;      ///< de-chunked or decompressed body
  bool is_decoded_ = false;  ///< the body is in decoded_, not in the buffer
  CountedBytes bytes_held_;
  std::unique_ptr<BodyTurns::Body> large_;  ///< while it is read
  std::optional<Refusal> refusal_;
};

}  // namespace octavo::server

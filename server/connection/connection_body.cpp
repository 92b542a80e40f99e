#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

#include "server/connection/connection.h"

// Reading request bodies: sized, chunked, compressed, with limits checked as they arrive.

namespace octavo::server {
namespace {

namespace asio = boost::asio;

constexpr std::size_t body_read_bytes_min = 16 * 1024;
/// Limit of one read; then other connections of the thread run.
constexpr std::size_t body_read_bytes_max = 128 * 1024;
/// Bodies up to this size are in the connection's ordinary buffers and are not counted.
constexpr std::size_t uncharged_body_bytes = 64 * 1024;
/// Limit for the sum of all larger request bodies in the process; beyond: 503. Sixteen bodies of the default maximum.
constexpr std::uint64_t body_bytes_max_together = std::uint64_t{1} << 30;
/// From this size on a body gets space for its largest possible size, up to body_reserve_bytes_max. Address space costs
/// nothing; growing by doubling copies tens of megabytes, or moves their pages while every thread of the process waits.
constexpr std::size_t roomy_body_bytes = 512 * 1024;
constexpr std::size_t body_reserve_bytes_max = std::size_t{64} << 20;
/// Decompressed in one step; then other connections of the thread run.
constexpr std::size_t inflate_step_bytes = 256 * 1024;

}  // namespace

// The common case: no body, or one that came with its head and needs no decoding.
bool Connection::take_body_if_here() {
  if (head_.chunked) return false;
  if (head_.content_length == 0) return true;
  if (in_.size() - head_size_ < head_.content_length || fields_.find("Content-Encoding")) return false;
  request_size_ = head_size_ + head_.content_length;
  return true;
}

bool Connection::refuse_body(int status, std::string_view reason) {
  refusal_ = Refusal{status, reason};
  return false;
}

Task<bool> Connection::read_body() {
  ContentCoding coding = ContentCoding::identity;
  if (const auto text = fields_.find("Content-Encoding")) {
    const auto known = parse_coding(*text);
    if (!known) co_return refuse_body(415, "The Content-Encoding of the request body is not gzip or deflate.");
    coding = *known;
  }
  wait_.begin_transfer();
  bool whole = false;
  if (head_.chunked) {
    whole = co_await read_chunked_body();
  } else {
    whole = co_await read_sized_body();
  }
  large_body_.reset();
  if (whole && coding != ContentCoding::identity) whole = co_await decompress_body(coding);
  wait_.end();
  co_return whole;
}

// The body is read behind its head into the read buffer and is never copied.
Task<bool> Connection::read_sized_body() {
  const std::size_t size = head_size_ + head_.content_length;
  if (in_.size() < size && head_.expect_continue) {
    const bool sent = co_await send_continue();
    if (!sent) co_return false;
  }
  while (in_.size() < size) {
    // Memory grows with the bytes received, not with the announced size. For large bodies address space is reserved.
    const std::size_t left = size - in_.size();
    const bool roomy = in_.size() >= roomy_body_bytes;
    const auto wanted = std::min(left, roomy ? body_read_bytes_max : std::max(body_read_bytes_min, in_.size()));
    if (!charge_body(in_.size() + wanted)) co_return refuse_body(503, "Too many large request bodies at once.");
    const std::size_t room =
        roomy && in_.size() < body_reserve_bytes_max ? body_reserve_bytes_max - in_.size() : wanted;
    const bool read = co_await read_more_body(std::min(left, std::max(room, wanted)), left);
    if (!read) co_return false;
  }
  request_size_ = size;
  co_return true;
}

Task<bool> Connection::read_chunked_body() {
  const std::size_t body_bytes_max = thread_.settings().request_body_bytes_max;
  // The parser must parse the head before the chunks, so it parses the head again.
  RequestParser parser(fields_, head_);
  if (auto refusal = parser.parse_head(in_.data().substr(0, head_size_))) {
    co_return refuse_body(refusal->status, refusal->reason);
  }
  body_decoded_ = true;
  bool continue_sent = false;
  for (;;) {
    make_room_for_body();
    const auto progress = parser.decode_chunks(in_.data().substr(head_size_), body_, body_bytes_max);
    in_.erase(head_size_, progress.consumed);
    if (progress.refusal) co_return refuse_body(progress.refusal->status, progress.refusal->reason);
    if (progress.done) break;
    if (!charge_body(body_.size())) co_return refuse_body(503, "Too many large request bodies at once.");
    if (head_.expect_continue && !continue_sent && body_.empty()) {
      continue_sent = true;
      const bool sent = co_await send_continue();
      if (!sent) co_return false;
    }
    const bool read =
        co_await read_more_body(body_read_bytes_min, body_bytes_max - std::min(body_bytes_max, body_.size()));
    if (!read) co_return false;
  }
  request_size_ = head_size_;
  co_return true;
}

Task<bool> Connection::decompress_body(ContentCoding coding) {
  const bool chunked = head_.chunked;
  const std::string compressed_chunks = std::exchange(body_, {});
  const std::string_view input =
      chunked ? std::string_view{compressed_chunks} : in_.data().substr(head_size_, request_size_ - head_size_);
  if (input.empty()) co_return true;
  body_decoded_ = true;
  Inflater inflater(coding, input, thread_.settings().request_body_bytes_max);
  for (;;) {
    make_room_for_body();
    switch (inflater.step(body_, inflate_step_bytes)) {
      case Inflater::Status::done:
        co_return true;
      case Inflater::Status::corrupt:
        co_return refuse_body(400, "The compressed request body is corrupt.");
      case Inflater::Status::too_large:
        co_return refuse_body(413, "The request body is too large after decompression.");
      case Inflater::Status::more:
        break;
    }
    if (!charge_body(input.size() + body_.size())) {
      co_return refuse_body(503, "Too many large request bodies at once.");
    }
    co_await asio::post(thread_.context(), use_task);
  }
}

// Returns false if the client left, or (with refusal_ set) made no progress in time.
Task<bool> Connection::read_more_body(std::size_t bytes_min, std::size_t bytes_left) {
  if (!out_.empty()) {
    const bool sent = co_await flush();
    if (!sent) co_return false;
  }
  if (input_ended_) {
    broken_ = true;
    co_return false;
  }
  wait_.begin_piece(Wait::body, thread_.settings().body_timeout_ms);
  boost::system::error_code error;
  if (wait_.transferred_bytes() >= uncharged_body_bytes) {
    // Waits for input before it waits for its turn. The time spent waiting for a turn is no pause of the client.
    if (transport_.plain()) co_await transport_.wait_readable(error);
    if (!error) {
      wait_.end();
      const auto asked_ms = thread_.now_ms();
      if (!large_body_) large_body_ = std::make_unique<BodyTurns::Body>(thread_.body_turns());
      co_await large_body_->wait(bytes_left);
      wait_.excuse_since(asked_ms);
      wait_.begin_piece(Wait::body, thread_.settings().body_timeout_ms);
    }
  }
  std::size_t bytes = 0;
  if (!error) {
    const auto space = in_.prepare(bytes_min);
    bytes = co_await transport_.read_some(space.first(std::min(space.size(), body_read_bytes_max)), error);
  }
  if (error) {
    if (wait_.timed_out()) co_return refuse_body(408, "The request body took too long to arrive.");
    broken_ = true;
    co_return false;
  }
  in_.commit(bytes);
  wait_.add_transferred(bytes);
  thread_.metrics().bytes_received.add(bytes);
  co_return true;
}

Task<bool> Connection::send_continue() {
  out_.append("HTTP/1.1 100 Continue\r\n\r\n");
  co_return co_await flush();
}

// Reserves the maximum, because the size of a decoded body is not known.
void Connection::make_room_for_body() {
  if (body_.size() < roomy_body_bytes) return;
  body_.reserve(std::min(thread_.settings().request_body_bytes_max, body_reserve_bytes_max) + 1);
}

bool Connection::charge_body(std::size_t bytes) {
  return bytes <= uncharged_body_bytes || body_bytes_held_.grow_to(bytes, body_bytes_max_together);
}

void Connection::release_body() {
  body_bytes_held_.release();
  if (body_.capacity() > uncharged_body_bytes) {
    body_ = {};
  } else {
    body_.clear();
  }
}

}  // namespace octavo::server

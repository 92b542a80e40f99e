#include "server/connection/body_reader.h"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>

#include "config/value_text.h"

namespace octavo::server {
namespace {

namespace asio = boost::asio;

constexpr std::size_t body_read_bytes_min = 16 * 1024;
/// Limit of one read; then other connections of the thread run.
constexpr std::size_t body_read_bytes_max = 128 * 1024;
/// Bodies up to this size are in the connection's ordinary buffers and are not counted.
constexpr std::size_t uncharged_body_bytes = 64 * 1024;
/// From this size on a body gets space for its largest possible size, up to body_reserve_bytes_max. Address space costs
/// nothing; growing by doubling copies tens of megabytes, or moves their pages while every thread of the process waits.
constexpr std::size_t roomy_body_bytes = 512 * 1024;
constexpr std::size_t body_reserve_bytes_max = std::size_t{64} << 20;
/// Decompressed in one step; then other connections of the thread run.
constexpr std::size_t inflate_step_bytes = 256 * 1024;

}  // namespace

BodyReader::BodyReader(Channel& channel, ReplyWriter& writer, HeaderFields& fields, RequestHead& head)
    : channel_(channel),
      writer_(writer),
      fields_(fields),
      head_(head),
      bytes_held_(channel.thread.bounds().body_bytes.held) {}

void BodyReader::begin(std::size_t head_bytes) {
  head_bytes_ = request_bytes_ = head_bytes;
  refusal_.reset();
}

bool BodyReader::take_if_here() {
  if (head_.chunked) return false;
  if (head_.content_length == 0) return true;
  if (channel_.in.size() - head_bytes_ < head_.content_length || fields_.find("Content-Encoding")) return false;
  request_bytes_ = head_bytes_ + head_.content_length;
  return true;
}

std::string_view BodyReader::body() const {
  if (is_decoded_) return decoded_;
  return channel_.in.data().substr(head_bytes_, request_bytes_ - head_bytes_);
}

bool BodyReader::refuse(int status, std::string_view reason) {
  refusal_ = Refusal{status, std::string(reason)};
  return false;
}

Task<bool> BodyReader::read() {
  ContentCoding coding = ContentCoding::identity;
  if (const auto text = fields_.find("Content-Encoding")) {
    const auto known = parse_coding(*text);
    if (!known) co_return refuse(415, "The Content-Encoding of the request body is not gzip or deflate.");
    coding = *known;
  }
  channel_.wait.begin_transfer();
  bool whole = false;
  if (head_.chunked) {
    whole = co_await read_chunked();
  } else {
    whole = co_await read_sized();
  }
  large_.reset();
  if (whole && coding != ContentCoding::identity) whole = co_await decompress(coding);
  channel_.wait.end();
  co_return whole;
}

// Memory grows with the bytes received, not with the announced size. For large bodies address space is reserved.
Task<bool> BodyReader::read_sized() {
  const ReadBuffer& in = channel_.in;
  const std::size_t size = head_bytes_ + head_.content_length;
  if (in.size() < size && head_.expect_continue) {
    const bool sent = co_await send_continue();
    if (!sent) co_return false;
  }
  while (in.size() < size) {
    const std::size_t left = size - in.size();
    const bool roomy = in.size() >= roomy_body_bytes;
    const auto wanted = std::min(left, roomy ? body_read_bytes_max : std::max(body_read_bytes_min, in.size()));
    if (!charge(in.size() + wanted)) co_return refuse(503, "Too many large request bodies at once.");
    const std::size_t room = roomy && in.size() < body_reserve_bytes_max ? body_reserve_bytes_max - in.size() : wanted;
    const bool read = co_await read_more(std::min(left, std::max(room, wanted)), left);
    if (!read) co_return false;
  }
  request_bytes_ = size;
  co_return true;
}

Task<bool> BodyReader::read_chunked() {
  ReadBuffer& in = channel_.in;
  const BodyLimit limit = channel_.thread.body_limit();
  const std::size_t body_bytes_max = limit.bytes;
  // The parser must parse the head before the chunks, so it parses the head again.
  RequestParser parser(fields_, head_);
  if (auto refusal = parser.parse_head(in.data().substr(0, head_bytes_))) {
    co_return refuse(refusal->status, refusal->reason);
  }
  is_decoded_ = true;
  bool continue_sent = false;
  for (;;) {
    make_room();
    const auto progress = parser.decode_chunks(in.data().substr(head_bytes_), decoded_, body_bytes_max, limit.origin);
    in.erase(head_bytes_, progress.consumed);
    if (progress.refusal) co_return refuse(progress.refusal->status, progress.refusal->reason);
    if (progress.done) break;
    if (!charge(decoded_.size())) co_return refuse(503, "Too many large request bodies at once.");
    if (head_.expect_continue && !continue_sent && decoded_.empty()) {
      continue_sent = true;
      const bool sent = co_await send_continue();
      if (!sent) co_return false;
    }
    const bool read =
        co_await read_more(body_read_bytes_min, body_bytes_max - std::min(body_bytes_max, decoded_.size()));
    if (!read) co_return false;
  }
  request_bytes_ = head_bytes_;
  co_return true;
}

Task<bool> BodyReader::decompress(ContentCoding coding) {
  const bool chunked = head_.chunked;
  const std::string compressed_chunks = std::exchange(decoded_, {});
  const std::string_view input = chunked ? std::string_view{compressed_chunks}
                                         : channel_.in.data().substr(head_bytes_, request_bytes_ - head_bytes_);
  if (input.empty()) co_return true;
  is_decoded_ = true;
  const BodyLimit limit = channel_.thread.body_limit();
  Inflater inflater(coding, input, limit.bytes);
  for (;;) {
    make_room();
    switch (inflater.step(decoded_, inflate_step_bytes)) {
      case Inflater::Status::done:
        co_return true;
      case Inflater::Status::corrupt:
        co_return refuse(400, "The compressed request body is corrupt.");
      case Inflater::Status::too_large:
        co_return refuse(413, "The request body, decompressed, " +
                                  config::over_limit(std::nullopt, limit.bytes, limit.origin) + ".");
      case Inflater::Status::more:
        break;
    }
    if (!charge(input.size() + decoded_.size())) {
      co_return refuse(503, "Too many large request bodies at once.");
    }
    co_await asio::post(channel_.thread.context(), use_task);
  }
}

// Returns false if the client left, or (with refusal_ set) made no progress in time.
Task<bool> BodyReader::read_more(std::size_t bytes_min, std::size_t bytes_left) {
  if (!writer_.out().empty()) {
    const bool sent = co_await writer_.flush();
    if (!sent) co_return false;
  }
  if (channel_.input_ended) {
    channel_.broken = true;
    co_return false;
  }
  ThreadState& thread = channel_.thread;
  WaitDeadline& wait = channel_.wait;
  wait.begin_piece(Wait::body, thread.settings().body_timeout_ms);
  boost::system::error_code error;
  if (wait.transferred_bytes() >= uncharged_body_bytes) {
    // Waits for input before it waits for its turn. The time spent waiting for a turn is no pause of the client.
    if (channel_.transport.plain()) co_await channel_.transport.wait_readable(error);
    if (!error) {
      wait.end();
      const auto asked_ms = thread.now_ms();
      if (!large_) large_ = std::make_unique<BodyTurns::Body>(thread.body_turns());
      co_await large_->wait(bytes_left);
      wait.excuse_since(asked_ms);
      wait.begin_piece(Wait::body, thread.settings().body_timeout_ms);
    }
  }
  std::size_t bytes = 0;
  if (!error) {
    const auto space = channel_.in.prepare(bytes_min);
    bytes = co_await channel_.transport.read_some(space.first(std::min(space.size(), body_read_bytes_max)), error);
  }
  if (error) {
    if (wait.timed_out()) co_return refuse(408, "The request body took too long to arrive.");
    channel_.broken = true;
    co_return false;
  }
  channel_.in.commit(bytes);
  wait.add_transferred(bytes);
  thread.metrics().bytes_received.add(bytes);
  co_return true;
}

Task<bool> BodyReader::send_continue() {
  writer_.out().append("HTTP/1.1 100 Continue\r\n\r\n");
  co_return co_await writer_.flush();
}

// Reserves the maximum, because the size of a decoded body is not known.
void BodyReader::make_room() {
  if (decoded_.size() < roomy_body_bytes) return;
  decoded_.reserve(std::min(channel_.thread.body_limit().bytes, body_reserve_bytes_max) + 1);
}

bool BodyReader::charge(std::size_t bytes) {
  return bytes <= uncharged_body_bytes || bytes_held_.grow_to(bytes, channel_.thread.bounds().buffered_bytes_max);
}

void BodyReader::release() {
  head_bytes_ = request_bytes_ = 0;
  is_decoded_ = false;
  bytes_held_.release();
  if (decoded_.capacity() > uncharged_body_bytes) {
    decoded_ = {};
  } else {
    decoded_.clear();
  }
}

}  // namespace octavo::server

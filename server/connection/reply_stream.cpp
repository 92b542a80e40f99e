#include "server/connection/reply_stream.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <new>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/memory_retry.h"
#include "server/connection/connection.h"

namespace octavo::server {
namespace {

namespace asio = boost::asio;

/// Pieces up to this size are copied between their framing bytes; larger ones are sent without a copy.
constexpr std::size_t copied_piece_bytes_max = 16 * 1024;
/// Writes to a fast client never wait; after this many bytes, other connections of the thread run.
constexpr std::uint64_t yield_bytes = 256 * 1024;
/// The same for compressed streams, in bytes before compression, because compressing them is the work.
constexpr std::size_t compressed_turn_bytes = 64 * 1024;
constexpr std::size_t watch_bytes = 256;
/// Limit of bytes that a client sends while a stream runs; then its connection is no longer watched.
constexpr std::size_t early_bytes_max = 64 * 1024;

}  // namespace

ReplyStream::ReplyStream(Channel& channel, ReplyWriter& writer, const api::Request& request, const ReplyFrame& frame)
    : channel_(channel),
      writer_(writer),
      request_(request),
      framing_(frame.framing),
      length_left_(frame.content_length),
      peer_finished_(channel.input_ended) {
  if (frame.coding != ContentCoding::identity) compressed_.emplace(frame.coding);
}

ReplyStream::~ReplyStream() = default;

bool ReplyStream::finish(bool produced) {
  if (!produced || failed_ || channel_.broken || length_left_ != 0) return false;
  if (compressed_) {
    GatherList list;  // stays empty: the end of a compressed body is small
    piece_.clear();
    compressed_->end(piece_);
    frame_piece(piece_, list);
  }
  if (framing_ == Framing::chunked) writer_.out().append("0\r\n\r\n");
  return true;
}

// Appends `piece` with its framing to the writer's buffer. A large piece is added to `list` instead, and must be sent
// before that buffer is changed again.
void ReplyStream::frame_piece(std::string_view piece, GatherList& list) {
  bytes_ += piece.size();
  const bool chunked = framing_ == Framing::chunked;
  if (chunked) fmt::format_to(std::back_inserter(writer_.out()), "{:x}\r\n", piece.size());
  if (piece.size() <= copied_piece_bytes_max) {
    writer_.out().append(piece);
    if (chunked) writer_.out().append("\r\n");
    return;
  }
  list.add(writer_.out());
  list.add(piece);
  if (chunked) list.add("\r\n");
}

Task<bool> ReplyStream::write(std::string_view bytes) {
  if (failed_ || peer_gone_ || channel_.broken) {
    failed_ = true;  // the reply must not look complete
    co_return false;
  }
  if (framing_ == Framing::length) {
    if (bytes.size() > length_left_) {
      spdlog::error("{} {}: a streamed reply is longer than its Content-Length", request_.request_id,
                    loggable_target(request_.target));
      failed_ = true;
      co_return false;
    }
    length_left_ -= bytes.size();
  }
  bool sent = false;
  do {
    auto piece = bytes;
    if (compressed_) piece = bytes.substr(0, compressed_turn_bytes);
    bytes.remove_prefix(piece.size());
    std::uint64_t turn_bytes = 0;
    if (compressed_ && !piece.empty()) {
      turn_bytes = piece.size() * (yield_bytes / compressed_turn_bytes);
      piece_.clear();
      compressed_->add(channel_.thread.deflater(), piece, piece_);
      piece = piece_;
    }
    GatherList list;
    if (!piece.empty()) frame_piece(piece, list);
    if (list.empty()) list.add(writer_.out());
    turn_bytes = std::max<std::uint64_t>(turn_bytes, list.size());
    sent = writer_.try_send(list);
    if (!sent && !channel_.broken) {
      bytes_since_yield_ = 0;
      sent = co_await writer_.send_rest(list);
    } else if (bytes_since_yield_ += turn_bytes; bytes_since_yield_ >= yield_bytes) {
      bytes_since_yield_ = 0;
      co_await asio::post(channel_.thread.context(), use_task);
    }
    writer_.out().clear();
  } while (sent && !bytes.empty());
  if (!sent) failed_ = true;
  co_return sent;
}

bool ReplyStream::closed() const {
  return peer_gone_ || failed_ || channel_.broken || channel_.thread.draining();
}

void ReplyStream::on_closed(std::move_only_function<void()> callback) {
  on_closed_ = std::move(callback);
  peer_gone_ = peer_gone_ || peer_finished_;
  if (closed()) tell_closed();
}

// Posted, not called, because the callback may end the stream, and this runs inside loops over all connections. A
// producer that is not told may wait forever, so this is retried until memory is available.
void ReplyStream::tell_closed() {
  if (!on_closed_) return;
  until_memory_suffices([this] {
    const auto callback = std::make_shared<std::move_only_function<void()>>();
    asio::post(channel_.thread.context(), [callback] { (*callback)(); });
    *callback = std::exchange(on_closed_, nullptr);  // called later, on this thread
  });
}

void ReplyStream::on_tick() {
  if (!writer_.is_writing()) {
    writer_.shrink(0);
    piece_ = {};
  }
  start_watch();
}

void ReplyStream::start_watch() {
  if (watching_ || peer_finished_ || channel_.broken || early_bytes_.size() >= early_bytes_max) return;
  if (!watch_buffer_) watch_buffer_ = std::make_unique_for_overwrite<char[]>(watch_bytes);
  // Reserved before the read: end_watch() waits for the handler, which must not fail when out of memory.
  early_bytes_.reserve(early_bytes_.size() + watch_bytes);
  try {
    channel_.transport.start_read(
        {watch_buffer_.get(), watch_bytes},
        [this](const boost::system::error_code& error, std::size_t bytes) { on_watch_read(error, bytes); });
    watching_ = true;
  } catch (const std::bad_alloc&) {
    if (channel_.transport.plain()) return;  // the next tick retries
    // The TLS stream may have registered the read: every other read would wait for it.
    channel_.broken = true;
    tell_closed();
  }
}

void ReplyStream::on_watch_read(const boost::system::error_code& error, std::size_t bytes) {
  if (const auto ending = std::move(abandoned_)) return;  // destroys the connection, and this with it
  watching_ = false;
  early_bytes_.append(watch_buffer_.get(), bytes);
  channel_.thread.metrics().bytes_received.add(bytes);
  if (error && error != asio::error::operation_aborted) {
    peer_finished_ = true;
    // A client that shut down its sending side after the request still gets its reply. With an on_closed callback the
    // client is treated as gone: it is a follower, and there may be no write for hours that would show it.
    if (error != asio::error::eof || on_closed_) {
      peer_gone_ = true;
      tell_closed();
    }
  }
  if (watch_ended_) {
    std::exchange(watch_ended_, nullptr)();  // may destroy the stream
  } else if (!error) {
    start_watch();
  }
}

Task<void> ReplyStream::end_watch() {
  if (!watching_) co_return;
  channel_.transport.cancel();
  const auto store = [this](auto handler) {
    watch_ended_ = [handler = std::move(handler)]() mutable { std::move(handler)(); };
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<IoExecutor>&, void()>(store, use_task);
}

void ReplyStream::end_after_watch(std::unique_ptr<Connection> connection) {
  OCTAVO_ASSERT(watching_);
  channel_.wait.end();
  channel_.broken = true;
  on_closed_ = nullptr;
  abandoned_ = std::move(connection);
  channel_.transport.close();
}

}  // namespace octavo::server

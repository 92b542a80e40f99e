#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/memory_retry.h"
#include "server/connection/connection.h"

// Streamed replies: framing, back-pressure, and detecting that the client has left.

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

// Returns whether the connection stays open.
Task<bool> Connection::send_stream(api::Reply& reply) {
  const bool has_body = begin_stream(reply);
  if (!has_body) {
    log(reply, 0);
    finish_request();
    const bool flushed = co_await flush();
    co_return flushed&& keep_alive_;
  }
  auto& streams_open = thread_.metrics().streams_open;
  streams_open.add(1);
  const bool complete = co_await run_stream(reply);
  streams_open.subtract(1);
  co_return co_await end_stream(reply, complete);
}

// Appends the head to out_. False if the reply has no body, so the stream need not run.
bool Connection::begin_stream(const api::Reply& reply) {
  auto frame = start_frame();
  if (!status_has_body(reply.status)) {
    frame.framing = Framing::none;
  } else if (facts_.content_length) {
    frame.framing = Framing::length;
    frame.content_length = *facts_.content_length;
  } else {
    frame.framing = head_.http_1_1 ? Framing::chunked : Framing::until_close;
    choose_reply_coding(reply, frame);
  }
  const bool head_only = head_.method == api::Method::head;
  if (frame.framing == Framing::until_close && !head_only) keep_alive_ = frame.keep_alive = false;
  append_head(reply, frame, out_);
  count(reply);
  if (head_only || frame.framing == Framing::none) return false;
  stream_ = std::make_unique<Stream>();
  stream_->peer_finished = input_ended_;
  stream_->framing = frame.framing;
  stream_->length_left = frame.content_length;
  if (frame.coding != ContentCoding::identity) stream_->compressed.emplace(frame.coding);
  return true;
}

// Sends the head with the first piece, then runs the producer. True if it finished.
Task<bool> Connection::run_stream(api::Reply& reply) {
  bool sent = false;
  if (reply.body.empty()) {
    sent = co_await flush();
  } else {
    sent = co_await write(reply.body);
    reply.body = {};
  }
  if (!sent) co_return false;
  try {
    co_await reply.stream(*this);
  } catch (const std::exception& error) {
    spdlog::error("{} {} {}: unexpected exception in a streamed reply: {}", request_.request_id,
                  to_string(request_.method), loggable_target(request_.target), error.what());
    co_return false;
  }
  co_return true;
}

Task<bool> Connection::end_stream(const api::Reply& reply, bool complete) {
  // A producer may stop early, without another write, when its client has left.
  complete = complete && !stream_->peer_gone;
  co_await end_watch();
  auto& stream = *stream_;
  complete = complete && !stream.failed && !broken_ && stream.length_left == 0;
  if (complete) {
    GatherList list;
    if (stream.compressed) {
      stream.piece.clear();
      stream.compressed->end(stream.piece);
      frame_piece(stream.piece, list);
    }
    if (stream.framing == Framing::chunked) out_.append("0\r\n\r\n");
  }
  log(reply, stream.bytes);
  const auto early_bytes = std::move(stream.early_bytes);
  const bool until_close = stream.framing == Framing::until_close;
  input_ended_ = stream.peer_finished;
  stream_.reset();
  finish_request();
  in_.append(early_bytes);
  if (complete) {
    const bool flushed = co_await flush();
    co_return flushed&& keep_alive_;
  }
  // The client must see a broken body, not a short one. If the end of the connection ends the body, the connection is
  // reset; otherwise the end of the framing is missing.
  broken_ = true;
  boost::system::error_code ignored;
  if (until_close) transport_.socket().set_option(asio::socket_base::linger(true, 0), ignored);
  co_return false;
}

// Appends `piece` with its framing to out_. A large piece is added to `list` instead, and must be sent before out_ is
// changed again.
void Connection::frame_piece(std::string_view piece, GatherList& list) {
  stream_->bytes += piece.size();
  const bool chunked = stream_->framing == Framing::chunked;
  if (chunked) fmt::format_to(std::back_inserter(out_), "{:x}\r\n", piece.size());
  if (piece.size() <= copied_piece_bytes_max) {
    out_.append(piece);
    if (chunked) out_.append("\r\n");
    return;
  }
  list.add(out_);
  list.add(piece);
  if (chunked) list.add("\r\n");
}

Task<bool> Connection::write(std::string_view bytes) {
  auto& stream = *stream_;
  if (stream.failed || stream.peer_gone || broken_) {
    stream.failed = true;  // the reply must not look complete
    co_return false;
  }
  if (stream.framing == Framing::length) {
    if (bytes.size() > stream.length_left) {
      spdlog::error("{} {}: a streamed reply is longer than its Content-Length", request_.request_id,
                    loggable_target(request_.target));
      stream.failed = true;
      co_return false;
    }
    stream.length_left -= bytes.size();
  }
  bool sent = false;
  do {
    auto piece = bytes;
    if (stream.compressed) piece = bytes.substr(0, compressed_turn_bytes);
    bytes.remove_prefix(piece.size());
    std::uint64_t turn_bytes = 0;
    if (stream.compressed && !piece.empty()) {
      turn_bytes = piece.size() * (yield_bytes / compressed_turn_bytes);
      stream.piece.clear();
      stream.compressed->add(thread_.deflater(), piece, stream.piece);
      piece = stream.piece;
    }
    GatherList list;
    if (!piece.empty()) frame_piece(piece, list);
    if (list.empty()) list.add(out_);
    turn_bytes = std::max<std::uint64_t>(turn_bytes, list.size());
    sent = try_send(list);
    if (!sent && !broken_) {
      stream.bytes_since_yield = 0;
      sent = co_await send_rest(list);
    } else if (stream.bytes_since_yield += turn_bytes; stream.bytes_since_yield >= yield_bytes) {
      stream.bytes_since_yield = 0;
      co_await asio::post(thread_.context(), use_task);
    }
    out_.clear();
  } while (sent && !bytes.empty());
  if (!sent) stream.failed = true;
  co_return sent;
}

bool Connection::closed() const {
  return !stream_ || stream_->peer_gone || stream_->failed || broken_ || thread_.draining();
}

void Connection::on_closed(std::move_only_function<void()> callback) {
  if (!stream_) return;
  stream_->on_closed = std::move(callback);
  stream_->peer_gone = stream_->peer_gone || stream_->peer_finished;
  if (closed()) tell_closed();
}

// Posted, not called, because the callback may end the stream, and this runs inside loops over all connections. A
// producer that is not told may wait forever, so this is retried until memory is available.
void Connection::tell_closed() {
  if (!stream_->on_closed) return;
  until_memory_suffices([this] {
    const auto callback = std::make_shared<std::move_only_function<void()>>();
    asio::post(thread_.context(), [callback] { (*callback)(); });
    *callback = std::exchange(stream_->on_closed, nullptr);  // called later, on this thread
  });
}

// Called by the tick, so that short streams are not watched.
void Connection::start_watch() {
  auto& stream = *stream_;
  if (stream.watching || stream.peer_finished || broken_ || stream.early_bytes.size() >= early_bytes_max) return;
  if (!stream.watch_buffer) stream.watch_buffer = std::make_unique_for_overwrite<char[]>(watch_bytes);
  // Reserved before the read: end_watch() waits for the handler, which must not fail when out of memory.
  stream.early_bytes.reserve(stream.early_bytes.size() + watch_bytes);
  try {
    transport_.start_read(
        {stream.watch_buffer.get(), watch_bytes},
        [this](const boost::system::error_code& error, std::size_t bytes) { on_watch_read(error, bytes); });
    stream.watching = true;
  } catch (const std::bad_alloc&) {
    if (transport_.plain()) return;  // the next tick retries
    // The TLS stream may have registered the read: every other read would wait for it.
    broken_ = true;
    tell_closed();
  }
}

void Connection::on_watch_read(const boost::system::error_code& error, std::size_t bytes) {
  auto& stream = *stream_;
  if (const auto ending = std::move(stream.abandoned)) return;
  stream.watching = false;
  stream.early_bytes.append(stream.watch_buffer.get(), bytes);
  thread_.metrics().bytes_received.add(bytes);
  if (error && error != asio::error::operation_aborted) {
    stream.peer_finished = true;
    // A client that shut down its sending side after the request still gets its reply. With an on_closed callback the
    // client is treated as gone: it is a follower, and there may be no write for hours that would show it.
    if (error != asio::error::eof || stream.on_closed) {
      stream.peer_gone = true;
      tell_closed();
    }
  }
  if (stream.watch_ended) {
    std::exchange(stream.watch_ended, nullptr)();  // may destroy the stream
  } else if (!error) {
    start_watch();
  }
}

// The next read must not start before the watch has ended: bytes would be reordered.
Task<void> Connection::end_watch() {
  if (!stream_->watching) co_return;
  transport_.cancel();
  const auto store = [this](auto handler) {
    stream_->watch_ended = [handler = std::move(handler)]() mutable { std::move(handler)(); };
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<IoExecutor>&, void()>(store, use_task);
}

// Keeps the connection until the handler of the watch's read has run.
void Connection::end_after_watch(std::unique_ptr<Connection> connection) {
  Connection& ending = *connection;
  ending.wait_.end();
  ending.broken_ = true;
  ending.stream_->on_closed = nullptr;
  ending.stream_->abandoned = std::move(connection);
  ending.transport_.close();
}

}  // namespace octavo::server

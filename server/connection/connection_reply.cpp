#include <algorithm>
#include <exception>
#include <new>
#include <poll.h>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "server/connection/connection.h"

// Replies: from what the handler returns to a head and a body in the writer's buffer, or to a stream.

namespace octavo::server {
namespace {

/// Bodies up to this size are copied behind their head: sending one piece is cheaper. Larger ones are never copied.
constexpr std::size_t copied_body_bytes_max = 16 * 1024;
/// Replies to pipelined requests are gathered up to this size before they are sent.
constexpr std::size_t gathered_bytes_max = 64 * 1024;
/// Larger bodies are compressed in slices, so that one reply does not block its thread.
constexpr std::size_t compressed_at_once_bytes_max = 64 * 1024;
constexpr std::size_t compressed_slice_bytes = 64 * 1024;

// Compresses and sends a complete body slice by slice.
Task<void> send_in_slices(std::string body, api::BodySink& sink) {
  for (std::string_view rest = body; !rest.empty();) {
    const auto slice = rest.substr(0, compressed_slice_bytes);
    rest.remove_prefix(slice.size());
    const bool sent = co_await sink.write(slice);
    if (!sent) co_return;
  }
}

}  // namespace

// Returns whether the connection stays open.
Task<bool> Connection::handle_and_reply() {
  api::Reply reply;
  auto& metrics = thread_.metrics();
  if (metrics.requests_in_flight.value() >= thread_.requests_in_flight_max()) {
    metrics.requests_rejected.add(1);
    reply = endpoint_.handler.protocol_error(503, "Too many requests at once. Try again later.");
    reply.headers.emplace_back("Retry-After", "1");
  } else {
    metrics.requests_in_flight.add(1);
    handling_ = true;
    bool threw = false;
    bool short_of_memory = false;
    try {
      // Counted only while the handler runs, not during a streamed reply.
      const CountedBytes in_hand(thread_.bounds().body_bytes.in_hand, body_.bytes_held());
      reply = co_await endpoint_.handler.handle(request_);
    } catch (const std::bad_alloc&) {
      short_of_memory = true;
    } catch (const std::exception& error) {
      spdlog::error("{} {} {}: unexpected exception: {}", request_.request_id, to_string(request_.method),
                    loggable_target(request_.target), error.what());
      threw = true;
    }
    handling_ = false;
    metrics.requests_in_flight.subtract(1);
    if (short_of_memory) {
      reply = endpoint_.handler.protocol_error(503, "The server is short of memory. Try again later.");
    }
    if (threw) reply = endpoint_.handler.protocol_error(500, "An unexpected error; the server's log tells more.");
  }
  prepare_reply(reply);
  if (reply.stream) co_return co_await send_stream(reply);

  GatherList list;
  const bool body_apart = render_reply(reply, list);
  finish_request();
  if (!body_apart) {
    // More requests have arrived already: their replies are sent together.
    const bool gather = channel_.transport.plain() && keep_alive_ && writer_.out().size() < gathered_bytes_max;
    if (gather && scan_head() == HeadScanner::Result::complete) co_return true;
    list.add(writer_.out());
  }
  bool sent = writer_.try_send(list);
  if (!sent && !channel_.broken) sent = co_await writer_.send_rest(list);
  writer_.out().clear();
  co_return sent&& keep_alive_;
}

// While a handler runs, the socket is not read: ask the kernel.
bool Connection::has_left() {
  if (channel_.broken) return true;
  pollfd state{.fd = channel_.transport.socket().native_handle(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

// Checks the handler's reply, decides on keep-alive, and turns large compressed replies into streams.
void Connection::prepare_reply(api::Reply& reply) {
  facts_ = examine(reply);
  if (!facts_.well_formed) {
    spdlog::error("{} {} {}: the handler's reply has a malformed status or header; answered 500", request_.request_id,
                  to_string(head_.method), loggable_target(request_.target));
    reply = endpoint_.handler.protocol_error(500, "An unexpected error; the server's log tells more.");
    reply.headers.clear();
    reply.stream = nullptr;
    facts_ = ReplyFacts{};
  }
  keep_alive_ = keep_alive_ && !reply.close && !facts_.close && !thread_.draining();
  if (!reply.stream && reply.body.size() > compressed_at_once_bytes_max && head_.http_1_1) {
    ReplyFrame frame;
    choose_reply_coding(reply, frame);
    if (frame.coding == ContentCoding::identity) return;
    facts_.content_length.reset();
    reply.stream = [body = std::move(reply.body)](api::BodySink& sink) mutable {
      return send_in_slices(std::move(body), sink);
    };
    reply.body.clear();
  }
}

ReplyFrame Connection::start_frame() const {
  ReplyFrame frame;
  frame.keep_alive = keep_alive_;
  frame.http_1_1 = head_.http_1_1;
  frame.common_headers = thread_.common_headers();
  frame.request_id = request_.request_id;
  frame.echoed_id = echoed_id_;
  return frame;
}

// If the reply has a body worth compressing, sets the coding and `Vary: Accept-Encoding`.
void Connection::choose_reply_coding(const api::Reply& reply, ReplyFrame& frame) const {
  if (facts_.coded || head_.method == api::Method::head || !status_has_body(reply.status)) return;
  if (!is_compressible(reply.content_type)) return;
  frame.vary = true;
  if (const auto accepted = fields_.find("Accept-Encoding")) frame.coding = choose_coding(*accepted);
}

// Appends the head and a small body to the writer's buffer. True if the body is large: then `list` contains everything
// to send.
bool Connection::render_reply(api::Reply& reply, GatherList& list) {
  auto frame = start_frame();
  const bool head_only = head_.method == api::Method::head;
  if (!status_has_body(reply.status)) {
    frame.framing = Framing::none;
    reply.body.clear();
  } else {
    if (reply.body.size() >= std::max<std::size_t>(thread_.settings().compression_bytes_min, 1)) {
      choose_reply_coding(reply, frame);
    }
    if (frame.coding != ContentCoding::identity) {
      std::string compressed;
      CompressedBody body(frame.coding);
      body.add(thread_.deflater(), reply.body, compressed);
      body.end(compressed);
      reply.body.swap(compressed);
    }
    frame.content_length = reply.body.size();
    // A HEAD handler may know the length without producing the body.
    if (head_only && reply.body.empty() && facts_.content_length) frame.content_length = *facts_.content_length;
  }
  append_head(reply, frame, writer_.out());
  if (head_only) reply.body.clear();
  count(reply);
  log(reply, reply.body.size());
  if (reply.body.size() > copied_body_bytes_max) {
    list.add(writer_.out());
    list.add(reply.body);
    return true;
  }
  writer_.out().append(reply.body);
  return false;
}

// Sends a reply whose body is produced while it is sent. Returns whether the connection stays open.
Task<bool> Connection::send_stream(api::Reply& reply) {
  const bool has_body = begin_stream(reply);
  if (!has_body) {
    log(reply, 0);
    finish_request();
    const bool flushed = co_await writer_.flush();
    co_return flushed&& keep_alive_;
  }
  auto& streams_open = thread_.metrics().streams_open;
  streams_open.add(1);
  const bool complete = co_await run_stream(reply);
  streams_open.subtract(1);
  co_return co_await end_stream(reply, complete);
}

// Appends the head to the writer's buffer. False if the reply has no body, so the stream need not run.
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
  append_head(reply, frame, writer_.out());
  count(reply);
  if (head_only || frame.framing == Framing::none) return false;
  stream_ = std::make_unique<ReplyStream>(channel_, writer_, request_, frame);
  return true;
}

// Sends the head with the first piece, then runs the producer. True if it finished.
Task<bool> Connection::run_stream(api::Reply& reply) {
  bool sent = false;
  if (reply.body.empty()) {
    sent = co_await writer_.flush();
  } else {
    sent = co_await stream_->write(reply.body);
    reply.body = {};
  }
  if (!sent) co_return false;
  try {
    co_await reply.stream(*stream_);
  } catch (const std::exception& error) {
    spdlog::error("{} {} {}: unexpected exception in a streamed reply: {}", request_.request_id,
                  to_string(request_.method), loggable_target(request_.target), error.what());
    co_return false;
  }
  co_return true;
}

Task<bool> Connection::end_stream(const api::Reply& reply, bool complete) {
  complete = complete && !stream_->peer_gone();
  co_await stream_->end_watch();
  complete = stream_->finish(complete);
  log(reply, stream_->bytes());
  const auto early_bytes = stream_->take_early_bytes();
  const bool until_close = stream_->framing() == Framing::until_close;
  channel_.input_ended = stream_->peer_finished();
  stream_.reset();
  finish_request();
  channel_.in.append(early_bytes);
  if (complete) {
    const bool flushed = co_await writer_.flush();
    co_return flushed&& keep_alive_;
  }
  // The client must see a broken body, not a short one. If the end of the connection ends the body, the connection is
  // reset; otherwise the end of the framing is missing.
  channel_.broken = true;
  boost::system::error_code ignored;
  if (until_close) channel_.transport.socket().set_option(boost::asio::socket_base::linger(true, 0), ignored);
  co_return false;
}

void Connection::count(const api::Reply& reply) {
  using std::chrono::duration_cast;
  const auto duration = std::chrono::steady_clock::now() - started_;
  thread_.metrics().count_reply(head_.method, reply.status, duration_cast<std::chrono::microseconds>(duration));
  // For a stream only the time to its head counts: a feed may stay open for long.
  const auto slow_ms = thread_.settings().slow_request_ms;
  if (slow_ms.count() > 0 && duration >= slow_ms) {
    spdlog::warn("slow request: {} {} {} answered {} after {} ms (user {}, peer {})", request_.request_id,
                 to_string(head_.method), loggable_target(request_.target), reply.status,
                 duration_cast<std::chrono::milliseconds>(duration).count(),
                 reply.log_user.empty() ? "-" : reply.log_user, request_.peer_address);
  }
}

void Connection::log(const api::Reply& reply, std::uint64_t body_bytes) {
  auto* const access_log = thread_.access_log();
  if (!access_log || !thread_.settings().access_log) return;
  // Containers and load balancers ask every few seconds; lines about good replies to them would hide others.
  if (reply.status == 200 && (request_.target == "/_up" || request_.target == "/_ready")) return;
  const auto duration = std::chrono::steady_clock::now() - started_;
  access_log->add({.request_id = request_.request_id,
                   .peer = request_.peer_address,
                   .user = reply.log_user,
                   .method = to_string(head_.method),
                   .target = request_.target,
                   .status = reply.status,
                   .bytes = body_bytes,
                   .duration = std::chrono::duration_cast<std::chrono::microseconds>(duration)});
}

}  // namespace octavo::server

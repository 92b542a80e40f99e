#include "server/connection/connection.h"

#include <algorithm>
#include <exception>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <spdlog/spdlog.h>

#include "config/value_text.h"
#include "server/http/http2_opening.h"

namespace octavo::server {
namespace {

namespace asio = boost::asio;
using std::chrono::milliseconds;

/// Enough for most request heads. A read that fills its space doubles the space of the next, up to the largest.
constexpr std::size_t read_bytes_first = 1024;
constexpr std::size_t read_bytes_min = 512;
constexpr std::size_t read_bytes_largest = 16 * 1024;
/// A client may send hundreds of requests at once: after this many, other connections of the thread run.
constexpr std::size_t requests_per_turn = 16;
/// Buffers up to this size are kept between requests; larger ones are freed.
constexpr std::size_t kept_bytes_max = 64 * 1024;
// The same for the decoded path and query; enough for nearly all requests.
constexpr std::size_t kept_target_bytes_max = 4 * 1024;
/// A connection that is idle for this long frees its buffers.
constexpr milliseconds trim_after{2000};
/// Limit of bytes that the kernel accepts but cannot send yet. Without it, megabytes would be produced for a client
/// that may never read them.
constexpr int unsent_kernel_bytes_max = 128 * 1024;
/// How long a client may continue to send a refused request, so that it can read the reason (RFC 9112 §9.6).
constexpr milliseconds linger_total{10'000};
constexpr milliseconds linger_quiet{2000};
/// How long to wait for the peer's close_notify; many peers never send it.
constexpr milliseconds tls_end_timeout{500};
/// Time to read the request of a connection that will only be answered 503.
constexpr milliseconds rejected_head_timeout{1000};
/// A TLS connection begins with a record of this type (RFC 8446 §5.1), and no HTTP request begins with this byte.
constexpr unsigned char tls_handshake_record = 0x16;

bool is_request_id(std::string_view text) {
  if (text.empty() || text.size() > 64) return false;
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == ':' || c == '+' || c == '=' || c == '~';
  });
}

bool is_host_and_port(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == ':' || c == '[' || c == ']';
  });
}

}  // namespace

Connection::Connection(Socket socket, std::string peer_address, ConnectionSlot slot, const Endpoint& endpoint)
    : slot_(std::move(slot)),
      thread_(slot_.thread()),
      endpoint_(endpoint),
      channel_(thread_, std::move(socket)),
      writer_(channel_, request_.peer_address),
      body_(channel_, writer_, fields_, head_) {
  request_.peer_address = std::move(peer_address);
  request_.headers = &fields_;
  request_.client = this;
  auto& metrics = thread_.metrics();
  (slot_.admission() == Admission::accepted ? metrics.connections_accepted : metrics.connections_rejected).add(1);
  metrics.connections_open.add(1);
  thread_.add(*this);
}

Connection::~Connection() {
  thread_.metrics().connections_open.subtract(1);
}

Task<void> Connection::run(std::unique_ptr<Connection> connection) {
  boost::system::error_code error;
  auto& socket = connection->channel_.transport.socket();
  socket.set_option(asio::ip::tcp::no_delay(true), error);
  socket.non_blocking(true, error);
  // If the system does not support the option, its own limits apply.
  static_cast<void>(::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_kernel_bytes_max,
                                 sizeof(unsent_kernel_bytes_max)));
  try {
    if (connection->endpoint_.certificate) {
      const bool chosen = co_await connection->choose_scheme();
      if (!chosen) co_return;
    }
    co_await connection->serve();
    co_await connection->close_gracefully();
  } catch (const std::exception& failure) {
    spdlog::error("connection from {} ended by an exception: {}", connection->request_.peer_address, failure.what());
  }
  ReplyStream* const stream = connection->stream_.get();
  if (stream != nullptr && stream->is_watching()) stream->end_after_watch(std::move(connection));
}

// Decides between TLS and plain HTTP by the first byte, and makes the handshake. False: the connection ends.
Task<bool> Connection::choose_scheme() {
  // A connection that will only be answered 503 gets no handshake, which would be expensive.
  const bool overloaded = slot_.admission() == Admission::overloaded;
  if (overloaded && !endpoint_.plain_too) co_return false;
  auto timeout = thread_.settings().header_timeout_ms;
  if (overloaded) timeout = std::min(timeout, rejected_head_timeout);
  channel_.wait.begin(Wait::handshake, timeout);
  const auto first = co_await first_byte();
  if (!first || channel_.wait.timed_out()) co_return false;
  if (*first != tls_handshake_record) {
    channel_.wait.end();
    co_return true;  // serve() refuses it if plain HTTP is not allowed
  }
  if (overloaded) co_return false;
  const auto context = endpoint_.certificate->context();
  channel_.transport.begin_tls(*context);
  request_.tls = true;
  boost::system::error_code error;
  co_await channel_.transport.handshake(error);
  channel_.wait.end();
  co_return !error;
}

// The first byte, which stays unread. nullopt: it did not come in time, or the client has left.
Task<std::optional<unsigned char>> Connection::first_byte() {
  boost::system::error_code waited;
  for (;;) {
    unsigned char byte = 0;
    boost::system::error_code error;
    auto& socket = channel_.transport.socket();
    const auto bytes = socket.receive(asio::buffer(&byte, 1), asio::socket_base::message_peek, error);
    if (bytes == 1) co_return byte;
    const bool may_come = error == asio::error::would_block || error == asio::error::try_again;
    // A byte that was sent just before the shutdown is still seen.
    if (!may_come || waited || thread_.draining()) co_return std::nullopt;
    co_await channel_.transport.wait_readable(waited);
  }
}

Task<void> Connection::serve() {
  for (;;) {
    auto scan = scan_head();
    while (scan == HeadScanner::Result::incomplete) {
      if (!writer_.out().empty()) {
        const bool sent = co_await writer_.flush();
        if (!sent) co_return;
      }
      if (channel_.input_ended) co_return;
      begin_head_wait();
      boost::system::error_code error;
      std::size_t bytes = 0;
      if (std::exchange(trim_, false) && channel_.in.empty()) {
        release_memory();
        co_await channel_.transport.socket().async_wait(Socket::wait_read, asio::redirect_error(use_task, error));
      } else if (thread_.draining() && channel_.in.empty()) {
        // A request sent just before the shutdown is still answered; idle connections are closed.
        if (!channel_.transport.plain()) co_return;
        const auto space = channel_.in.prepare(read_bytes_first);
        bytes = channel_.transport.socket().read_some(asio::buffer(space.data(), space.size()), error);
        if (error || bytes == 0) co_return;
      } else {
        const auto space = channel_.in.prepare(read_bytes_next());
        read_filled_ = false;
        if (channel_.transport.plain()) {
          const asio::mutable_buffer buffer(space.data(), space.size());
          bytes = co_await channel_.transport.socket().async_read_some(buffer, asio::redirect_error(use_task, error));
        } else {
          bytes = co_await channel_.transport.read_some(space, error);
        }
        read_filled_ = bytes == space.size();
      }
      if (error && read_failed(error)) {
        if (refusal_) co_await refuse();
        co_return;
      }
      channel_.in.commit(bytes);
      thread_.metrics().bytes_received.add(bytes);
      scan = scan_head();
    }
    channel_.wait.end();
    if (scan == HeadScanner::Result::complete) refusal_ = begin_request();
    if (!refusal_ && !body_.take_if_here()) {
      const bool whole = co_await body_.read();
      if (!whole) refusal_ = body_.refusal();
      if (!whole && !refusal_) co_return;
    }
    if (!refusal_ && !build_request())
      refusal_ = Refusal{400, "The request target is malformed, or has too many parts."};
    if (refusal_) {
      const bool asked_for_http_1_1 = begins_http2(channel_.in.data()) && co_await refuse_http2();
      if (!asked_for_http_1_1) co_await refuse();
      co_return;
    }
    const bool go_on = co_await handle_and_reply();
    if (!go_on) co_return;
    if (channel_.in.empty()) {
      requests_in_turn_ = 0;
    } else if (++requests_in_turn_ >= requests_per_turn) {
      requests_in_turn_ = 0;
      co_await asio::post(thread_.context(), use_task);
    }
  }
}

HeadScanner::Result Connection::scan_head() {
  const auto result = head_scanner_.scan(channel_.in, thread_.settings().request_head_bytes_max);
  if (result == HeadScanner::Result::refused) refuse_head(head_scanner_.refusal());
  return result;
}

void Connection::refuse_head(Refusal refusal) {
  head_ = RequestHead{};
  refusal_ = std::move(refusal);
}

std::size_t Connection::read_bytes_next() const {
  if (channel_.in.capacity() == 0) return read_bytes_first;
  return read_filled_ ? std::min(channel_.in.capacity() * 2, read_bytes_largest) : read_bytes_min;
}

// Sets the deadline of the next read. A head's deadline starts with its first byte and is not extended.
void Connection::begin_head_wait() {
  if (channel_.in.empty() && !first_request_) {
    if (channel_.wait.current() == Wait::idle) return;
    channel_.wait.begin(Wait::idle, thread_.settings().idle_timeout_ms);
  } else if (channel_.wait.current() != Wait::head) {
    auto timeout = thread_.settings().header_timeout_ms;
    if (slot_.admission() == Admission::overloaded) timeout = std::min(timeout, rejected_head_timeout);
    channel_.wait.begin(Wait::head, timeout);
  }
}

// Whether a failed read of a head ends the connection. Sets refusal_ if the client must be told.
bool Connection::read_failed(const boost::system::error_code& error) {
  if (error != asio::error::operation_aborted) return true;
  if (channel_.wait.timed_out()) {
    if (!channel_.in.empty()) refuse_head({408, "The request head took too long to arrive."});
    return true;
  }
  return !trim_ && !thread_.draining();
}

// Parses the complete head.
std::optional<Refusal> Connection::begin_request() {
  first_request_ = false;
  started_ = std::chrono::steady_clock::now();
  RequestParser parser(fields_, head_);
  const std::size_t head_bytes = head_scanner_.head_bytes();
  if (auto refusal = parser.parse_head(channel_.in.data().substr(0, head_bytes))) return refusal;
  body_.begin(head_bytes);
  keep_alive_ = head_.keep_alive;
  if (refuses_scheme()) return Refusal{400, "This port speaks HTTPS only: use " + https_url()};
  if (slot_.admission() == Admission::overloaded) return Refusal{503, "Too many connections. Try again later."};
  if (const auto limit = thread_.body_limit(); head_.content_length > limit.bytes) {
    const auto reason = config::over_limit(head_.content_length, limit.bytes, limit.origin);
    return Refusal{413, "The request body " + reason + "."};
  }
  return std::nullopt;
}

bool Connection::refuses_scheme() const {
  return endpoint_.certificate && !endpoint_.plain_too && channel_.transport.plain();
}

// The address that the client used, but with the scheme that this port has.
std::string Connection::https_url() {
  const auto host = fields_.find("Host");
  if (host && is_host_and_port(*host)) return "https://" + std::string(*host);
  boost::system::error_code error;
  return "https://localhost:" + std::to_string(channel_.transport.socket().local_endpoint(error).port());
}

// From here until the reply is done, the head and the body do not move: views into them are safe.
bool Connection::build_request() {
  const auto data = channel_.in.data();
  fields_.set_base(data.data());
  request_.method = head_.method;
  request_.body = body_.body();
  // The usual name is echoed beside CouchDB's, under which every reply has its id.
  const auto client_id = fields_.find("X-Request-Id");
  const auto couch_id = fields_.find("X-Couch-Request-ID");
  echoed_id_.clear();
  if (client_id && is_request_id(*client_id)) echoed_id_.assign(*client_id);
  if (couch_id && is_request_id(*couch_id)) {
    request_.request_id.assign(*couch_id);
  } else if (!echoed_id_.empty()) {
    request_.request_id = echoed_id_;
  } else {
    request_.request_id = thread_.next_request_id();
  }
  return api::parse_target(data.substr(head_.target_offset, head_.target_size), request_);
}

void Connection::finish_request() {
  channel_.in.consume(body_.request_bytes());
  head_scanner_.restart();
  body_.release();
  channel_.in.shrink(kept_bytes_max);
  writer_.shrink(kept_bytes_max);
  if (request_.target_bytes() > kept_target_bytes_max) request_.release_target();
}

// Asks for HTTP/1.1 in the words of HTTP/2. That is the reply to the client's request: clients that find the connection
// closed before they have sent one do not try HTTP/1.1. False: the client sent no request.
Task<bool> Connection::refuse_http2() {
  channel_.wait.begin(Wait::head, rejected_head_timeout);
  std::optional<std::uint32_t> stream;
  while (!(stream = first_http2_stream(channel_.in.data()))) {
    if (channel_.in.size() >= http2_opening_bytes_max) co_return false;
    const auto space = channel_.in.prepare(read_bytes_min);
    boost::system::error_code error;
    std::size_t bytes = 0;
    if (channel_.transport.plain()) {
      const asio::mutable_buffer buffer(space.data(), space.size());
      bytes = co_await channel_.transport.socket().async_read_some(buffer, asio::redirect_error(use_task, error));
    } else {
      bytes = co_await channel_.transport.read_some(space, error);
    }
    if (error) co_return false;
    channel_.in.commit(bytes);
  }
  channel_.wait.end();
  unread_input_ = true;
  append_http_1_1_required(writer_.out(), *stream);
  co_await writer_.flush();
  co_return true;
}

// Tells the client why its request is refused, and ends the connection: the start of the next request is unknown.
Task<void> Connection::refuse() {
  channel_.wait.end();
  channel_.wait.forget_timeout();
  unread_input_ = true;
  keep_alive_ = false;
  echoed_id_.clear();
  request_.request_id = thread_.next_request_id();
  if (head_.target_size == 0 || head_scanner_.head_bytes() == 0) {
    request_.target = "-";
    started_ = std::chrono::steady_clock::now();
  } else {
    request_.target = channel_.in.data().substr(head_.target_offset, head_.target_size);
  }
  api::Reply reply = endpoint_.handler.protocol_error(refusal_->status, refusal_->reason);
  if (refusal_->status == 503) reply.headers.emplace_back("Retry-After", "1");
  prepare_reply(reply);
  GatherList list;
  render_reply(reply, list);
  if (list.empty()) list.add(writer_.out());
  if (!writer_.try_send(list) && !channel_.broken) co_await writer_.send_rest(list);
  writer_.out().clear();
}

// Closes our direction first and waits for the client to close its own, so that it can read the last reply: closing
// with unread input would reset the connection and lose the reply.
Task<void> Connection::close_gracefully() {
  if (channel_.broken || channel_.wait.timed_out()) {
    channel_.transport.close();
    co_return;
  }
  channel_.wait.begin(Wait::linger, tls_end_timeout);
  co_await channel_.transport.end_sending();
  channel_.wait.forget_timeout();
  if (!channel_.input_ended && (unread_input_ || !channel_.in.empty())) {
    release_memory();
    const auto give_up_ms = thread_.deadline_ms(linger_total);
    const auto space = channel_.in.prepare(16 * 1024);
    while (!channel_.wait.timed_out() && thread_.now_ms() < give_up_ms) {
      channel_.wait.begin(Wait::linger, linger_quiet);
      boost::system::error_code error;
      // Reads below TLS, which has been shut down, and discards the input.
      const asio::mutable_buffer buffer(space.data(), space.size());
      co_await channel_.transport.socket().async_read_some(buffer, asio::redirect_error(use_task, error));
      if (error) break;
    }
  }
  channel_.wait.end();
  channel_.transport.close();
}

void Connection::release_memory() {
  channel_.in.consume(channel_.in.size());
  channel_.in.shrink(0);
  writer_.release();
  body_.release_memory();
  fields_.release();
  request_.release_target();
}

bool Connection::on_tick() {
  if (const Wait expired = channel_.wait.expire(); expired != Wait::none) {
    if (expired != Wait::linger) {
      const auto kind = static_cast<std::size_t>(expired) - static_cast<std::size_t>(Wait::handshake);
      thread_.metrics().timeouts[kind].add(1);
    }
    channel_.transport.cancel();
    return true;
  }
  if (channel_.wait.current() == Wait::idle && !trim_ && channel_.transport.plain() && channel_.in.capacity() > 0 &&
      channel_.in.empty() && channel_.wait.waited() >= trim_after) {
    trim_ = true;
    channel_.transport.cancel();
    return true;
  }
  // A pipelined request takes long: send the replies before it.
  if (handling_) writer_.send_without_waiting();
  if (stream_) stream_->on_tick();
  return false;
}

void Connection::on_drain() {
  if (stream_) stream_->tell_closed();
  const Wait wait = channel_.wait.current();
  const bool no_byte_yet =
      (wait == Wait::head && channel_.in.empty()) || (wait == Wait::handshake && channel_.transport.plain());
  if ((wait == Wait::idle || no_byte_yet) && !stream_) channel_.transport.cancel();
}

}  // namespace octavo::server

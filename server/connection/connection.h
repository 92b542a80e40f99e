#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/http/handler.h"
#include "api/http/request.h"
#include "server/connection/body_reader.h"
#include "server/connection/channel.h"
#include "server/connection/reply_stream.h"
#include "server/connection/reply_writer.h"
#include "server/connection/thread_state.h"
#include "server/connection/tls.h"
#include "server/connection/transport.h"
#include "server/http/head_scanner.h"
#include "server/http/header_fields.h"
#include "server/http/reply_head.h"
#include "server/http/request_parser.h"

namespace octavo::server {

/// The configuration of one listening port. Outlives its connections.
struct Endpoint {
  api::Handler& handler;
  std::shared_ptr<ServerCertificate> certificate = nullptr;  ///< null: plain HTTP only
  /// With a certificate: the first byte of a connection decides between TLS and plain HTTP. If false, plain HTTP is
  /// answered 400.
  bool plain_too = false;
};

/// One client connection: reads requests, calls the port's handler and sends replies in order, until either side closes
/// it.
///
/// Lives on one I/O thread and is owned by the coroutine that runs it, whose position in serve() is the connection's
/// state. Its memory is bounded by the settings: one request at a time (head, body), and the head and body of one
/// reply. While it is idle it frees its buffers.
class Connection final : public ConnectionHook, private api::Client {
 public:
  Connection(Socket socket, std::string peer_address, ConnectionSlot slot, const Endpoint& endpoint);
  ~Connection() override;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Serves the connection until it is closed; the coroutine owns it. Spawn it on the thread's context.
  static Task<void> run(std::unique_ptr<Connection> connection);

  /// Called by the thread's tick: checks deadlines and frees memory. True if it ended a wait, which causes work.
  bool on_tick();
  /// Called once when the server begins to shut down.
  void on_drain();

 private:
  // connection.cpp: the loop.
  Task<bool> choose_scheme();
  Task<std::optional<unsigned char>> first_byte();
  Task<void> serve();
  HeadScanner::Result scan_head();
  void refuse_head(Refusal refusal);
  bool read_failed(const boost::system::error_code& error);
  void begin_head_wait();
  std::size_t read_bytes_next() const;
  std::optional<Refusal> begin_request();
  bool refuses_scheme() const;
  std::string https_url();
  bool build_request();
  void finish_request();
  Task<bool> refuse_http2();
  Task<void> refuse();
  Task<void> close_gracefully();
  void release_memory();

  // connection_reply.cpp
  Task<bool> handle_and_reply();
  void prepare_reply(api::Reply& reply);
  bool render_reply(api::Reply& reply, GatherList& list);
  ReplyFrame start_frame() const;
  void choose_reply_coding(const api::Reply& reply, ReplyFrame& frame) const;
  Task<bool> send_stream(api::Reply& reply);
  bool begin_stream(const api::Reply& reply);
  Task<bool> run_stream(api::Reply& reply);
  Task<bool> end_stream(const api::Reply& reply, bool complete);
  bool has_left() override;
  void count(const api::Reply& reply);
  void log(const api::Reply& reply, std::uint64_t body_bytes);

  const ConnectionSlot slot_;
  ThreadState& thread_;
  const Endpoint& endpoint_;
  Channel channel_;

  // The present request.
  RequestHead head_;
  HeaderFields fields_;
  api::Request request_;
  std::string echoed_id_;
  std::optional<Refusal> refusal_;
  ReplyFacts facts_;  // of the reply being sent
  std::chrono::steady_clock::time_point started_;

  HeadScanner head_scanner_;
  ReplyWriter writer_;
  BodyReader body_;
  std::unique_ptr<ReplyStream> stream_;  // while it runs

  std::size_t requests_in_turn_ = 0;
  bool trim_ = false;  // the read was cancelled only to free its buffer
  bool first_request_ = true;
  bool read_filled_ = false;
  bool keep_alive_ = true;
  bool unread_input_ = false;  // the client may still be sending what we refused
  bool handling_ = false;
};

}  // namespace octavo::server

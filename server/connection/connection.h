#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/http/handler.h"
#include "api/http/request.h"
#include "server/connection/body_turns.h"
#include "server/connection/counted_bytes.h"
#include "server/connection/read_buffer.h"
#include "server/connection/thread_state.h"
#include "server/connection/tls.h"
#include "server/connection/transport.h"
#include "server/connection/wait_deadline.h"
#include "server/http/compression.h"
#include "server/http/header_fields.h"
#include "server/http/reply_head.h"
#include "server/http/request_parser.h"

namespace octavo::server {

/// The configuration of one listening port. Outlives its connections.
struct Endpoint {
  api::Handler& handler;
  std::shared_ptr<TlsPort> tls;  ///< null: plain HTTP
};

/// One client connection: reads requests, calls the port's handler and sends replies in order, until either side closes
/// it.
///
/// Lives on one I/O thread and is owned by the coroutine that runs it. Its memory is bounded by the settings: one
/// request at a time (head, body), and the head and body of one reply. While it is idle it frees its buffers.
class Connection final : public ConnectionHook, private api::BodySink, private api::Client {
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
  enum class HeadScan : std::uint8_t { incomplete, complete, refused };

  // A streamed reply while it runs.
  struct Stream {
    Framing framing = Framing::chunked;
    std::optional<CompressedBody> compressed;
    std::string piece;                    // compressed bytes of the current write
    std::uint64_t length_left = 0;        // with Framing::length
    std::uint64_t bytes = 0;              // of the body, without framing
    std::uint64_t bytes_since_yield = 0;  // sent, or a larger number for compressed pieces
    std::move_only_function<void()> on_closed;
    // While the producer waits, a read watches the client. Received bytes are its next request. End of file means that
    // it will send no more; only a write shows whether it still reads.
    std::unique_ptr<char[]> watch_buffer;
    std::string early_bytes;
    std::move_only_function<void()> watch_ended;  // resumes the coroutine that waits for the end of the watch
    bool watching = false;
    std::unique_ptr<Connection> abandoned;  // its coroutine ended by an exception; destroyed with the watch
    bool peer_finished = false;             // half closed, or gone
    bool peer_gone = false;
    bool failed = false;
  };

  // connection.cpp: the loop.
  Task<void> serve();
  HeadScan scan_head();
  HeadScan refuse_head(int status, std::string_view reason);
  bool read_failed(const boost::system::error_code& error);
  void begin_head_wait();
  std::size_t read_bytes_next() const;
  std::optional<Refusal> begin_request();
  bool build_request();
  void finish_request();
  Task<void> refuse(Refusal refusal);
  Task<void> close_gracefully();
  void release_memory();

  // connection_body.cpp
  bool take_body_if_here();
  Task<bool> read_body();
  Task<bool> read_sized_body();
  Task<bool> read_chunked_body();
  Task<bool> decompress_body(ContentCoding coding);
  Task<bool> read_more_body(std::size_t bytes_min, std::size_t bytes_left);
  Task<bool> send_continue();
  bool refuse_body(int status, std::string_view reason);
  void make_room_for_body();
  bool charge_body(std::size_t bytes);
  void release_body();

  // connection_reply.cpp
  Task<bool> handle_and_reply();
  void prepare_reply(api::Reply& reply);
  bool render_reply(api::Reply& reply, GatherList& list);
  ReplyFrame start_frame() const;
  void choose_reply_coding(const api::Reply& reply, ReplyFrame& frame) const;
  Task<bool> flush();
  bool try_send(GatherList& list);
  Task<bool> send_rest(GatherList list);
  Task<bool> send_waiting(GatherList list);
  bool has_left() override;
  void count(const api::Reply& reply);
  void log(const api::Reply& reply, std::uint64_t body_bytes);

  // connection_stream.cpp
  Task<bool> send_stream(api::Reply& reply);
  bool begin_stream(const api::Reply& reply);
  Task<bool> run_stream(api::Reply& reply);
  Task<bool> end_stream(const api::Reply& reply, bool complete);
  void frame_piece(std::string_view piece, GatherList& list);
  Task<void> end_watch();
  static void end_after_watch(std::unique_ptr<Connection> connection);
  Task<bool> write(std::string_view bytes) override;
  bool closed() const override;
  void on_closed(std::move_only_function<void()> callback) override;
  void start_watch();
  void on_watch_read(const boost::system::error_code& error, std::size_t bytes);
  void tell_closed();

  const ConnectionSlot slot_;
  ThreadState& thread_;
  Transport transport_;
  const Endpoint& endpoint_;

  ReadBuffer in_;
  std::string out_;  // replies, or heads of replies, not yet sent
  RequestHead head_;
  HeaderFields fields_;
  api::Request request_;
  std::string body_;  // de-chunked or decompressed body
  CountedBytes body_bytes_held_;
  std::string echoed_id_;
  std::unique_ptr<BodyTurns::Body> large_body_;  // while it is read
  std::unique_ptr<Stream> stream_;
  std::optional<Refusal> refusal_;
  ReplyFacts facts_;  // of the reply being sent

  std::size_t head_size_ = 0;     // of the complete head at the start of in_; 0: not complete
  std::size_t scanned_ = 0;       // bytes of in_ that do not contain the end of the head
  std::size_t request_size_ = 0;  // head and body in in_
  std::size_t requests_in_turn_ = 0;
  std::chrono::steady_clock::time_point started_;
  WaitDeadline wait_;
  bool trim_ = false;  // the read was cancelled only to free its buffer
  bool first_request_ = true;
  bool read_filled_ = false;
  bool keep_alive_ = true;
  bool body_decoded_ = false;  // the body is in body_, not in in_
  bool broken_ = false;        // nothing more can be sent
  bool unread_input_ = false;  // the client may still be sending what we refused
  bool input_ended_ = false;   // a stream's watch has read end of file: another read would never complete
  bool handling_ = false;
  bool writing_ = false;
};

}  // namespace octavo::server

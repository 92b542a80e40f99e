#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/http/reply.h"
#include "api/http/request.h"
#include "base/task.h"
#include "server/connection/channel.h"
#include "server/connection/reply_writer.h"
#include "server/http/compression.h"
#include "server/http/reply_head.h"

namespace octavo::server {

class Connection;

/// The body of one streamed reply while it is produced: framing, compression, back-pressure, and detecting that the
/// client has left.
///
/// While the producer waits, a read watches the client. Received bytes are its next request. End of file means that it
/// will send no more; only a write shows whether it still reads.
class ReplyStream final : public api::BodySink {
 public:
  /// The head of the reply, with `frame`, is in the writer's buffer. `request` is for the log. All must outlive this.
  ReplyStream(Channel& channel, ReplyWriter& writer, const api::Request& request, const ReplyFrame& frame);
  ~ReplyStream() override;
  ReplyStream(const ReplyStream&) = delete;
  ReplyStream& operator=(const ReplyStream&) = delete;

  Task<bool> write(std::string_view bytes) override;
  bool closed() const override;
  void on_closed(std::move_only_function<void()> callback) override;

  /// Called by the tick: frees memory, and begins to watch the client, so that short streams are not watched.
  void on_tick();
  /// Tells the producer that the stream should end.
  void tell_closed();

  /// Whether the client is known to have left. A producer may then stop early, without another write.
  bool peer_gone() const { return peer_gone_; }
  /// Called when the producer has ended. The next read must not start before the watch has ended: bytes would be
  /// reordered.
  Task<void> end_watch();
  /// Adds the end of the body to the writer's buffer, if `produced` and nothing is missing. False: the body is
  /// incomplete.
  bool finish(bool produced);

  Framing framing() const { return framing_; }
  /// The bytes of the body, without framing.
  std::uint64_t bytes() const { return bytes_; }
  /// The client sends no more.
  bool peer_finished() const { return peer_finished_; }
  /// What the client has sent meanwhile.
  std::string take_early_bytes() { return std::move(early_bytes_); }

  /// Whether a read waits for the client.
  bool is_watching() const { return watching_; }
  /// For a connection whose coroutine was ended by an exception: keeps it, and this with it, until the read's handler
  /// has run. Precondition: is_watching().
  void end_after_watch(std::unique_ptr<Connection> connection);

 private:
  void frame_piece(std::string_view piece, GatherList& list);
  void start_watch();
  void on_watch_read(const boost::system::error_code& error, std::size_t bytes);

  Channel& channel_;
  ReplyWriter& writer_;
  const api::Request& request_;
  const Framing framing_;
  std::optional<CompressedBody> compressed_;
  std::string piece_;          // compressed bytes of the current write
  std::uint64_t length_left_;  // with Framing::length
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_since_yield_ = 0;  // sent, or a larger number for compressed pieces
  std::move_only_function<void()> on_closed_;
  std::unique_ptr<char[]> watch_buffer_;
  std::string early_bytes_;
  std::move_only_function<void()> watch_ended_;  // resumes the coroutine that waits for the end of the watch
  std::unique_ptr<Connection> abandoned_;        // see end_after_watch()
  bool watching_ = false;
  bool peer_finished_;  // half closed, or gone
  bool peer_gone_ = false;
  bool failed_ = false;
};

}  // namespace octavo::server

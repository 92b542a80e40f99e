#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>

#include "api/http/metrics.h"
#include "base/machine/resources.h"
#include "config/live_settings.h"
#include "server/connection/body_turns.h"
#include "server/connection/descriptor_budget.h"
#include "server/http/compression.h"
#include "server/process/access_log.h"
#include "server/process/memory_budget.h"

namespace octavo::server {

/// Limits for the whole process, shared by all threads. Changed once per connection or large body.
struct SharedBounds {
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> rejected_lingering{0};  ///< connections kept only to be answered 503
  const std::size_t rejected_lingering_max = server::rejected_lingering_max(descriptor_limit());
  /// Limit of all larger request bodies together (beyond: 503), and of all unsent bytes of replies together (a
  /// connection that would exceed it is closed).
  const std::uint64_t buffered_bytes_max = server::buffered_bytes_max(available_resources().memory_bytes);
  BodyBytes body_bytes;                        ///< of requests
  std::atomic<std::uint64_t> unsent_bytes{0};  ///< of replies that clients have not read
};

class Connection;
class ThreadState;

enum class Admission : std::uint8_t {
  accepted,
  overloaded,  ///< only to be answered 503
};

/// Counts one connection in the limits, from its acceptance until this is destroyed.
class ConnectionSlot {
 public:
  ConnectionSlot(ThreadState& thread, Admission admission);
  ~ConnectionSlot();
  ConnectionSlot(ConnectionSlot&& other) noexcept
      : thread_(std::exchange(other.thread_, nullptr)), admission_(other.admission_) {}
  ConnectionSlot& operator=(ConnectionSlot&&) = delete;
  ThreadState& thread() const { return *thread_; }
  Admission admission() const { return admission_; }

 private:
  ThreadState* thread_;
  Admission admission_;
};

/// A connection in its thread's list.
using ConnectionHook = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// State shared by the connections of one I/O thread: the coarse clock, the check of deadlines, the Date header, the
/// compressor, counters. Used only by that thread, except the constructor and destructor.
///
/// There are no timers per operation: one tick, several times a second, checks every connection's deadline. Deadlines
/// are therefore late by up to two ticks, never early.
class ThreadState {
 public:
  ThreadState(std::size_t index, boost::asio::io_context& context, const config::LiveSettings& settings,
              api::HttpMetrics& metrics, SharedBounds& bounds, AccessLog* access_log);
  ~ThreadState();
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

  /// Starts the tick.
  void start();
  /// Releases everything that uses the context, which will be destroyed with the connections. Call after the thread has
  /// ended.
  void end();
  /// Stops new requests: closes idle connections now and the others after their reply, and notifies streams.
  void begin_drain();
  bool draining() const { return draining_; }

  void add(Connection& connection);
  bool no_connections() const { return connections_.empty(); }
  /// Open connections assigned to this thread. The only member that other threads use.
  std::atomic<std::size_t>& assigned_connections() { return assigned_connections_; }

  boost::asio::io_context& context() { return context_; }
  /// Those in effect now.
  const config::Settings& settings() const { return settings_.now(); }
  BodyLimit body_limit() const { return server::body_limit(settings(), bounds_.buffered_bytes_max); }
  api::HttpMetrics::Shard& metrics() { return metrics_; }
  SharedBounds& bounds() { return bounds_; }
  AccessLog::Buffer* access_log() { return access_log_.get(); }
  Deflater& deflater() { return deflater_; }
  BodyTurns& body_turns() { return body_turns_; }

  /// A clock in milliseconds, at the last tick. If a tick is late, because the machine stalls, the clock advances by
  /// two ticks only: clients must not time out because the thread could not read.
  std::int64_t now_ms() const { return now_ms_; }
  /// A time when `timeout` from now has certainly passed.
  std::int64_t deadline_ms(std::chrono::milliseconds timeout) const {
    return now_ms_ + timeout.count() + tick_interval_.count();
  }
  /// "Server: …\r\nDate: …\r\n", updated once a second.
  std::string_view common_headers() const { return common_headers_; }
  /// Ten hexadecimal digits, as in X-Couch-Request-ID.
  std::string next_request_id();
  /// This thread's share of requests_in_flight_max.
  std::size_t requests_in_flight_max() const;

 private:
  void schedule_tick();
  void tick();
  void sweep();
  void update_clock();

  boost::asio::io_context& context_;
  const config::LiveSettings& settings_;
  api::HttpMetrics::Shard& metrics_;
  SharedBounds& bounds_;
  std::unique_ptr<AccessLog::Buffer> access_log_;
  Deflater deflater_;
  BodyTurns body_turns_;
  std::chrono::milliseconds tick_interval_;
  const std::size_t threads_;
  std::optional<boost::asio::steady_timer> timer_;
  boost::intrusive::list<ConnectionHook, boost::intrusive::constant_time_size<false>> connections_;
  std::chrono::steady_clock::time_point ticked_at_ = std::chrono::steady_clock::now();
  std::int64_t now_ms_;
  std::int64_t date_second_ = 0;
  std::string common_headers_;
  std::uint64_t random_state_;
  std::atomic<std::size_t> assigned_connections_{0};
  bool draining_ = false;
};

}  // namespace octavo::server

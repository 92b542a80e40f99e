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
#include "config/settings.h"
#include "server/access_log.h"
#include "server/body_turns.h"
#include "server/compression.h"
#include "server/descriptor_budget.h"

namespace octavo::server {

/// What all threads share: bounds that must hold for the whole process. Touched once per connection or large body.
struct SharedBounds {
  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> rejected_lingering{0};  ///< connections kept only to be told 503
  const std::size_t rejected_lingering_max = server::rejected_lingering_max(descriptor_limit());
  BodyBytes body_bytes;                        ///< of requests
  std::atomic<std::uint64_t> unsent_bytes{0};  ///< of replies, waiting for clients to read
};

class Connection;
class ThreadState;

enum class Admission : std::uint8_t {
  accepted,
  overloaded,  ///< only to be told 503
};

/// The right of one connection to exist, counted from its acceptance on until this goes away.
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

/// A connection as its thread's clock sees it.
using ConnectionHook = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// Everything the connections of one I/O thread share: the coarse clock, the deadlines' sweep, the Date header, the
/// compressor, counters. Used by that thread only, but for the constructor and destructor.
///
/// There are no timers per operation: one tick, a few times a second, looks at every connection's deadline. Deadlines
/// are therefore late by up to two ticks, never early.
class ThreadState {
 public:
  ThreadState(std::size_t index, boost::asio::io_context& context, const config::Settings& settings,
              api::HttpMetrics& metrics, SharedBounds& bounds, AccessLog* access_log);
  ~ThreadState();
  ThreadState(const ThreadState&) = delete;
  ThreadState& operator=(const ThreadState&) = delete;

  /// Starts the tick.
  void start();
  /// The context is about to go, and with it the connections: lets go of it. After the thread has ended.
  void end();
  /// No new requests: idle connections close now, the others after their reply; streams are told.
  void begin_drain();
  bool draining() const { return draining_; }

  void add(Connection& connection);
  bool no_connections() const { return connections_.empty(); }
  /// Connections given to this thread and still open. The only member that other threads use.
  std::atomic<std::size_t>& assigned_connections() { return assigned_connections_; }

  boost::asio::io_context& context() { return context_; }
  const config::Settings& settings() const { return settings_; }
  api::HttpMetrics::Shard& metrics() { return metrics_; }
  SharedBounds& bounds() { return bounds_; }
  AccessLog::Buffer* access_log() { return access_log_.get(); }
  Deflater& deflater() { return deflater_; }
  BodyTurns& body_turns() { return body_turns_; }

  /// A clock in milliseconds, at the last tick. When the thread comes late to a tick, as when the machine stalls, it
  /// goes on by two ticks only: what the thread could not read no client has failed to send.
  std::int64_t now_ms() const { return now_ms_; }
  /// When `timeout` from now is surely over.
  std::int64_t deadline_ms(std::chrono::milliseconds timeout) const {
    return now_ms_ + timeout.count() + tick_interval_.count();
  }
  /// "Server: …\r\nDate: …\r\n", made anew once a second.
  std::string_view common_headers() const { return common_headers_; }
  /// Ten hexadecimal digits, as in X-Couch-Request-ID.
  std::string next_request_id();
  /// This thread's share of requests_in_flight_max.
  std::size_t requests_in_flight_max() const { return requests_in_flight_max_; }

 private:
  void schedule_tick();
  void tick();
  void sweep();
  void update_clock();

  boost::asio::io_context& context_;
  const config::Settings& settings_;
  api::HttpMetrics::Shard& metrics_;
  SharedBounds& bounds_;
  std::unique_ptr<AccessLog::Buffer> access_log_;
  Deflater deflater_;
  BodyTurns body_turns_;
  const std::chrono::milliseconds tick_interval_;
  const std::size_t requests_in_flight_max_;
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

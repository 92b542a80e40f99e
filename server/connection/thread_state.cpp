#include "server/connection/thread_state.h"

#include <algorithm>
#include <array>
#include <new>
#include <random>

#include <boost/asio/post.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/encoding.h"
#include "base/memory_retry.h"
#include "config/version.h"
#include "server/connection/connection.h"

namespace octavo::server {
namespace {

using std::chrono::milliseconds;

// A quarter of the shortest timeout is precise enough for deadlines; four ticks a second cost nothing.
milliseconds choose_tick(const config::Settings& settings) {
  const auto shortest = std::min({settings.header_timeout_ms, settings.body_timeout_ms, settings.idle_timeout_ms,
                                  settings.send_timeout_ms, milliseconds{1000}});
  return std::clamp(shortest / 4, milliseconds{5}, milliseconds{250});
}

constexpr std::size_t waits_ended_at_once = 32;

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

ConnectionSlot::ConnectionSlot(ThreadState& thread, Admission admission) : thread_(&thread), admission_(admission) {
  auto& bounds = thread.bounds();
  (admission == Admission::accepted ? bounds.connections : bounds.rejected_lingering).fetch_add(1);
  thread.assigned_connections().fetch_add(1);
}

ConnectionSlot::~ConnectionSlot() {
  if (!thread_) return;
  auto& bounds = thread_->bounds();
  (admission_ == Admission::accepted ? bounds.connections : bounds.rejected_lingering).fetch_sub(1);
  thread_->assigned_connections().fetch_sub(1);
}

ThreadState::ThreadState(std::size_t index, boost::asio::io_context& context, const config::LiveSettings& settings,
                         api::HttpMetrics& metrics, SharedBounds& bounds, AccessLog* access_log)
    : context_(context),
      settings_(settings),
      metrics_(metrics.shard(index)),
      bounds_(bounds),
      access_log_(access_log ? std::make_unique<AccessLog::Buffer>(*access_log) : nullptr),
      body_turns_(context, bounds.body_bytes),
      tick_interval_(choose_tick(settings.now())),
      threads_(metrics.threads()),
      timer_(context),
      now_ms_(std::chrono::duration_cast<milliseconds>(ticked_at_.time_since_epoch()).count()),
      random_state_(random_seed()) {
  update_clock();
}

ThreadState::~ThreadState() {
  connections_.clear();
}

void ThreadState::start() {
  schedule_tick();
}

void ThreadState::end() {
  timer_.reset();
  body_turns_.end();
  if (access_log_) access_log_->flush();
}

void ThreadState::schedule_tick() {
  timer_->expires_after(tick_interval_);
  timer_->async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    try {
      tick();
    } catch (const std::bad_alloc&) {
      // The next tick does the rest, so it must be scheduled.
    }
    until_memory_suffices([this] { schedule_tick(); });
  });
}

void ThreadState::tick() {
  update_clock();
  tick_interval_ = choose_tick(settings());
  sweep();
  if (access_log_) access_log_->flush();
}

void ThreadState::sweep() {
  std::size_t ended = 0;
  // on_tick only cancels or starts operations; it destroys no connection.
  for (auto& connection : connections_) {
    if (!static_cast<Connection&>(connection).on_tick() || ++ended < waits_ended_at_once) continue;
    // Thousands of deadlines may pass at the same moment. Handles the ended waits first, and lets other requests run in
    // between.
    boost::asio::post(context_, [this] { sweep(); });
    return;
  }
}

// Per thread, so that counting needs no shared cache line; connections are distributed evenly.
std::size_t ThreadState::requests_in_flight_max() const {
  return std::max<std::size_t>(1, settings().requests_in_flight_max / threads_);
}

void ThreadState::begin_drain() {
  draining_ = true;
  for (auto& connection : connections_) static_cast<Connection&>(connection).on_drain();
}

void ThreadState::add(Connection& connection) {
  connections_.push_back(connection);
}

void ThreadState::update_clock() {
  const auto now = std::chrono::steady_clock::now();
  const auto since = std::chrono::duration_cast<milliseconds>(now - ticked_at_);
  now_ms_ += std::min(since, 2 * tick_interval_).count();
  ticked_at_ += since;
  const auto second = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  if (second == date_second_) return;
  date_second_ = second;
  const auto utc = fmt::gmtime(second);
  // Not %a and %b: they would follow the locale.
  static constexpr std::array<std::string_view, 7> days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  common_headers_ = fmt::format("Server: Octavo/{}\r\nDate: {}, {:02} {} {} {:02}:{:02}:{:02} GMT\r\n",
                                config::version(), days[static_cast<std::size_t>(utc.tm_wday)], utc.tm_mday,
                                months[static_cast<std::size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour,
                                utc.tm_min, utc.tm_sec);
}

std::string ThreadState::next_request_id() {
  // SplitMix64: unique enough to find a request in a log, but predictable.
  random_state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t bits = random_state_;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
  bits ^= bits >> 31;
  std::string id(10, '0');
  for (char& digit : id) {
    digit = crypto::hex_digits[bits & 15];
    bits >>= 4;
  }
  return id;
}

}  // namespace octavo::server

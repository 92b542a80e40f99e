#include "api/couch/changes/feed_stream.h"

#include <stdexcept>
#include <utility>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include "partitioning/scan.h"

namespace octavo::api::couch {

namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;
using Step = FollowedFeed::Step;

// A feed that fails or ends within this time gets an ordinary reply. After it the head is sent, so that a client that
// waits for a slow filter gets heartbeats.
constexpr std::chrono::milliseconds head_wait_max{500};

using asio::cancellation_signal;

// Waits until the feed grows, the deadline passes, or the connection ends, which `hang_up` signals. True if it grew.
Task<bool> wait(FollowedFeed& feed, steady_clock::time_point deadline, cancellation_signal& hang_up) {
  const IoExecutor executor = co_await asio::this_coro::executor;
  // The wait is its own coroutine, so that the signal can cancel it; it starts and is cancelled on this I/O thread.
  auto token = asio::bind_cancellation_slot(hang_up.slot(), use_task);
  try {
    co_return co_await asio::co_spawn(executor, feed.wait(deadline), std::move(token));
  } catch (const boost::system::system_error& error) {
    // A wait that is cancelled while it is about to wait again ends with this error.
    if (error.code() != asio::error::operation_aborted) throw;
    co_return false;
  }
}

// Sends `piece` and frees its memory; false if the client has disconnected.
Task<bool> send(BodySink& sink, std::string& piece) {
  if (piece.empty()) co_return !sink.closed();
  const bool sent = co_await sink.write(piece);
  piece = std::string();
  co_return sent;
}

Task<void> follow(std::unique_ptr<FollowedFeed> feed, FeedPatience patience, Step step, BodySink& sink) {
  std::string piece;
  bool on_worker = step == Step::more;
  auto hang_up = std::make_shared<cancellation_signal>();
  bool following = false;
  auto deadline = steady_clock::now() + patience.wait();
  while (true) {
    if (step == Step::wait) {
      // Not earlier: the existing rows are sent completely, even to a client that has closed its sending side.
      if (!std::exchange(following, true)) {
        sink.on_closed([hang_up] { hang_up->emit(asio::cancellation_type::terminal); });
      }
      if (sink.closed()) co_return;
      const bool grew = co_await wait(*feed, deadline, *hang_up);
      if (sink.closed()) co_return;
      if (!grew && !feed->gone() && patience.heartbeat) {
        feed->heartbeat(piece);
        const bool alive = co_await send(sink, piece);
        if (!alive) co_return;
        deadline = steady_clock::now() + patience.wait();
        continue;
      }
      if (!grew) {
        const auto finished = feed->finish(piece);
        if (finished) co_await send(sink, piece);
        co_return;
      }
      on_worker = false;
    }
    auto advanced = co_await feed->advance(piece, on_worker);
    if (!advanced) {
      if (feed->gone()) co_return;
      // The head was already sent, so only an incomplete body can show the error. The connection logs it.
      throw std::runtime_error("change feed: " + std::string(reason_of(advanced.error())));
    }
    step = *advanced;
    on_worker = step == Step::more;
    // If the filter held back all rows, nothing was sent, so a heartbeat may be due.
    if (!piece.empty()) {
      const bool alive = co_await send(sink, piece);
      if (!alive) co_return;
      deadline = steady_clock::now() + patience.wait();
    } else if (step == Step::more && steady_clock::now() >= deadline && patience.heartbeat) {
      feed->heartbeat(piece);
      const bool alive = co_await send(sink, piece);
      if (!alive) co_return;
      deadline = steady_clock::now() + patience.wait();
    }
    if (step == Step::end) co_return;
  }
}

}  // namespace

Task<Expected<Reply>> feed_reply(std::unique_ptr<FollowedFeed> feed, FeedMode mode, FeedPatience patience) {
  Reply reply;
  if (mode == FeedMode::eventsource) {
    reply.content_type = "text/event-stream";
    reply.headers.emplace_back("Cache-Control", "no-cache");
  }
  const auto head_until = steady_clock::now() + head_wait_max;
  auto advanced = co_await feed->advance(reply.body, false);
  while (advanced && *advanced == Step::more && reply.body.size() < partitioning::ScanBudget::output_bytes_max &&
         steady_clock::now() < head_until) {
    advanced = co_await feed->advance(reply.body, true);
  }
  OCTAVO_CO_TRY(const auto step, std::move(advanced));
  if (step == Step::end) co_return reply;
  reply.stream = [feed = std::move(feed), patience, step](BodySink& sink) mutable {
    return follow(std::move(feed), patience, step, sink);
  };
  co_return reply;
}

}  // namespace octavo::api::couch

#include "partitioning/change_notifier.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

namespace octavo::partitioning {

namespace asio = boost::asio;
using Timer =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, IoExecutor>;

/// One waiting coroutine. The timer is touched on its own I/O thread only.
struct ChangeNotifier::Waiter {
  explicit Waiter(const IoExecutor& on) : executor(on), timer(on) {}
  IoExecutor executor;
  Timer timer;
  bool notified = false;
};

ChangeNotifier::ChangeNotifier() = default;
ChangeNotifier::~ChangeNotifier() = default;

Task<bool> ChangeNotifier::wait(std::uint64_t seen, std::chrono::steady_clock::time_point deadline) {
  const IoExecutor executor = co_await asio::this_coro::executor;
  auto waiter = std::make_shared<Waiter>(executor);
  waiter->timer.expires_at(deadline);
  std::list<std::shared_ptr<Waiter>>::iterator place;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    waiting_.fetch_add(1, std::memory_order_seq_cst);
    if (epoch_.load(std::memory_order_seq_cst) != seen) {
      waiting_.fetch_sub(1, std::memory_order_relaxed);
      co_return true;
    }
    place = waiters_.insert(waiters_.end(), waiter);
  }
  boost::system::error_code error;
  co_await waiter->timer.async_wait(asio::redirect_error(use_task, error));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    waiters_.erase(place);
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  co_return waiter->notified || epoch() != seen;
}

void ChangeNotifier::notify_all() {
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (waiting_.load(std::memory_order_seq_cst) == 0) return;
  std::lock_guard<std::mutex> lock(mutex_);
  for (const std::shared_ptr<Waiter>& waiter : waiters_) {
    asio::post(waiter->executor, [waiter] {
      if (waiter->notified) return;
      waiter->notified = true;
      waiter->timer.cancel();
    });
  }
}

}  // namespace octavo::partitioning

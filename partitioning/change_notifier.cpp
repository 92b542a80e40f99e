#include "partitioning/change_notifier.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/memory_retry.h"

namespace octavo::partitioning {

namespace asio = boost::asio;
using Timer =
    asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>, IoExecutor>;

namespace {
/// After this many the thread's other work has its turn: ten thousand followers of one database must not delay it.
constexpr std::size_t woken_at_once = 32;
}  // namespace

/// One waiting coroutine. The timer is used on its own I/O thread only.
struct ChangeNotifier::Waiter {
  explicit Waiter(const IoExecutor& on) : executor(on), timer(on) {}
  IoExecutor executor;
  Timer timer;
  bool called = false;  ///< in a wave already; guarded by the notifier's mutex
  bool notified = false;
};

/// The waiters of one I/O thread that one notify_all wakes.
struct ChangeNotifier::Wave {
  explicit Wave(IoExecutor on) : executor(std::move(on)) {}
  IoExecutor executor;
  std::vector<std::shared_ptr<Waiter>> waiters;
};

ChangeNotifier::ChangeNotifier() = default;
ChangeNotifier::~ChangeNotifier() = default;

/// A waiter's entry in the list, for exactly as long as it waits.
class ChangeNotifier::Entry {
 public:
  Entry(ChangeNotifier& notifier, const std::shared_ptr<Waiter>& waiter)
      : notifier_(notifier), lock_(notifier.mutex_), entry_(notifier.waiters_.insert(notifier.waiters_.end(), waiter)) {
    notifier_.waiting_.fetch_add(1, std::memory_order_seq_cst);
  }
  ~Entry() {
    if (!lock_.owns_lock()) lock_.lock();
    notifier_.waiters_.erase(entry_);
    notifier_.waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  void unlock() { lock_.unlock(); }

 private:
  ChangeNotifier& notifier_;
  std::unique_lock<std::mutex> lock_;
  const std::list<std::shared_ptr<Waiter>>::iterator entry_;
};

Task<bool> ChangeNotifier::wait(std::uint64_t seen, std::chrono::steady_clock::time_point deadline) {
  const IoExecutor executor = co_await asio::this_coro::executor;
  auto waiter = std::make_shared<Waiter>(executor);
  waiter->timer.expires_at(deadline);
  {
    Entry entry(*this, waiter);
    if (epoch_.load(std::memory_order_seq_cst) != seen) co_return true;
    entry.unlock();
    boost::system::error_code error;
    co_await waiter->timer.async_wait(asio::redirect_error(use_task, error));
  }
  co_return waiter->notified || epoch() != seen;
}

void ChangeNotifier::notify_all() {
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  if (waiting_.load(std::memory_order_seq_cst) == 0) return;
  std::lock_guard<std::mutex> lock(mutex_);
  until_memory_suffices([this] {
    std::vector<std::shared_ptr<Wave>> waves;  // one per I/O thread
    for (const std::shared_ptr<Waiter>& waiter : waiters_) {
      if (waiter->called) continue;
      auto wave = std::ranges::find(waves, waiter->executor, [](const auto& known) { return known->executor; });
      if (wave == waves.end()) wave = waves.insert(wave, std::make_shared<Wave>(waiter->executor));
      (*wave)->waiters.push_back(waiter);
    }
    for (auto& wave : waves) asio::post(wave->executor, [wave] { wake(wave); });
  });
  for (const std::shared_ptr<Waiter>& waiter : waiters_) waiter->called = true;
}

void ChangeNotifier::wake(const std::shared_ptr<Wave>& wave) {
  for (std::size_t n = 0; n < woken_at_once && !wave->waiters.empty(); ++n) {
    Waiter& waiter = *wave->waiters.back();
    if (!std::exchange(waiter.notified, true)) waiter.timer.cancel();
    wave->waiters.pop_back();
  }
  if (wave->waiters.empty()) return;
  until_memory_suffices([&wave] { asio::post(wave->executor, [wave] { wake(wave); }); });
}

}  // namespace octavo::partitioning

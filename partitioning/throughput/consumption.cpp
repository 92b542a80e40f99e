#include "partitioning/throughput/consumption.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <new>

#include <fmt/format.h>

#include "base/assert.h"

namespace octavo::partitioning {

namespace {

constexpr std::uint64_t units_mask = (std::uint64_t{1} << 40) - 1;
constexpr std::size_t seconds_kept = 64;  // a minute, and the current second
constexpr std::int64_t minute_s = 60;

// Precise to the tick of the kernel's clock, which suffices here and costs a tenth.
std::int64_t coarse_now_s() {
  timespec time{};
  static_cast<void>(::clock_gettime(CLOCK_MONOTONIC_COARSE, &time));  // a known clock cannot fail
  return time.tv_sec;
}

RequestUnits units_of(std::uint64_t hundredths) {
  return static_cast<double>(hundredths) / 100;
}

}  // namespace

/// slot := number of the second, 24 bits; hundredths of request units spent in it, 40 bits
struct Consumption::Meter {
  std::array<std::atomic<std::uint64_t>, seconds_kept> seconds{};
  std::atomic<std::uint64_t> total{0};  ///< hundredths
  std::atomic<std::uint64_t> refused{0};
  HotKeys hot_keys;

  static std::uint64_t stamp(std::int64_t second) { return static_cast<std::uint64_t>(second) << 40; }

  void add(std::uint64_t hundredths, std::int64_t now_s) {
    total.fetch_add(hundredths, std::memory_order_relaxed);
    auto& slot = seconds[static_cast<std::size_t>(now_s) % seconds_kept];
    std::uint64_t before = slot.load(std::memory_order_relaxed);
    while ((before & ~units_mask) != stamp(now_s)) {
      if (slot.compare_exchange_weak(before, stamp(now_s) | hundredths, std::memory_order_relaxed)) return;
    }
    slot.fetch_add(hundredths, std::memory_order_relaxed);
  }

  RequestUnits spent_in(std::int64_t second) const {
    const std::uint64_t slot = seconds[static_cast<std::size_t>(second) % seconds_kept].load(std::memory_order_relaxed);
    return (slot & ~units_mask) == stamp(second) ? units_of(slot & units_mask) : 0;
  }
};

Consumption::Cell::~Cell() {
  delete meter.load(std::memory_order_relaxed);
}

Consumption::Consumption(std::span<const std::size_t> partition_ids, std::size_t partition_id_end) {
  set_partition_ids(partition_ids, partition_id_end);
}

Consumption::~Consumption() = default;

void Consumption::set_partition_ids(std::span<const std::size_t> partition_ids, std::size_t partition_id_end) {
  const std::lock_guard lock(mutex_);
  auto next = std::make_unique<Layout>();
  if (!layouts_.empty()) next->cells = layouts_.back()->cells;
  while (next->cells.size() < partition_id_end) next->cells.push_back(std::make_shared<Cell>());
  next->order.resize(partition_id_end, 0);
  for (std::size_t i = 0; i < partition_ids.size(); ++i) {
    OCTAVO_ASSERT(partition_ids[i] < partition_id_end);
    next->order[partition_ids[i]] = i;
  }
  next->sharing = partition_ids.size();
  layouts_.push_back(std::move(next));
  layout_.store(layouts_.back().get(), std::memory_order_release);
}

void Consumption::set_budget(std::shared_ptr<ThroughputBudget> budget) {
  const std::lock_guard lock(mutex_);
  if (budget_.load(std::memory_order_relaxed) == budget.get()) return;
  budget_.store(budget.get(), std::memory_order_release);
  const auto known = std::ranges::find(budgets_, budget);
  if (known != budgets_.end()) budgets_.erase(known);
  budgets_.push_back(std::move(budget));  // the last one is in force
}

std::shared_ptr<ThroughputBudget> Consumption::budget() const {
  const std::lock_guard lock(mutex_);
  return budgets_.empty() ? nullptr : budgets_.back();
}

Consumption::Meter* Consumption::meter(const Layout& layout, std::size_t partition_id) noexcept {
  OCTAVO_ASSERT(partition_id < layout.cells.size());
  auto& known = layout.cells[partition_id]->meter;
  Meter* meter = known.load(std::memory_order_acquire);
  if (meter != nullptr) return meter;
  auto* made = new (std::nothrow) Meter;
  if (made == nullptr || known.compare_exchange_strong(meter, made, std::memory_order_acq_rel)) return made;
  delete made;
  return meter;
}

Expected<void> Consumption::admit(std::span<const std::size_t> partition_ids) const {
  ThroughputBudget* const budget = budget_.load(std::memory_order_acquire);
  if (budget == nullptr) return {};
  const auto now = ThroughputBudget::Clock::now();
  std::chrono::milliseconds longest{0};
  const Layout& now_laid_out = layout();
  for (const std::size_t partition_id : partition_ids) {
    const auto wait = budget->wait(now_laid_out.share(partition_id, *budget), now);
    if (wait <= longest) continue;
    longest = wait;
    if (Meter* const known = meter(now_laid_out, partition_id)) known->refused.fetch_add(1, std::memory_order_relaxed);
  }
  if (longest.count() == 0) return {};
  Error error{ErrorCode::throttled,
              fmt::format("Request rate is large: the throughput of {} request units per second is used up. Try again "
                          "after {} ms.",
                          budget->rate(), longest.count()),
              {}};
  error.retry_after_ms = static_cast<std::uint32_t>(longest.count());
  return std::unexpected(std::move(error));
}

void Consumption::spend(std::size_t partition_id, std::string_view partition_key, RequestUnits units) noexcept {
  if (units <= 0) return;
  const Layout& laid_out = layout();
  if (Meter* const known = meter(laid_out, partition_id)) {
    const std::int64_t now_s = coarse_now_s();
    known->add(static_cast<std::uint64_t>(std::llround(units * 100)), now_s);
    if (!partition_key.empty()) known->hot_keys.add(partition_key, units, now_s);
  }
  if (ThroughputBudget* const budget = budget_.load(std::memory_order_acquire)) {
    budget->spend(laid_out.share(partition_id, *budget), units, ThroughputBudget::Clock::now());
  }
}

void Consumption::spend(std::span<const std::size_t> partition_ids, RequestUnits units) noexcept {
  const double share = units / static_cast<double>(partition_ids.size());
  for (const std::size_t partition_id : partition_ids) spend(partition_id, {}, share);
}

Consumption::Report Consumption::report(std::size_t partition_id, std::size_t hot_keys_max) const {
  Report report;
  OCTAVO_ASSERT(partition_id < layout().cells.size());
  const Meter* const known = layout().cells[partition_id]->meter.load(std::memory_order_acquire);
  if (known == nullptr) return report;
  const std::int64_t now_s = coarse_now_s();
  report.total = units_of(known->total.load(std::memory_order_relaxed));
  report.refused = known->refused.load(std::memory_order_relaxed);
  report.last_second = known->spent_in(now_s - 1);
  for (std::int64_t second = now_s - minute_s; second < now_s; ++second) report.last_minute += known->spent_in(second);
  report.hot_keys = known->hot_keys.top(hot_keys_max, now_s);
  return report;
}

HotKey Consumption::recent_of(std::size_t partition_id, std::string_view partition_key) const {
  OCTAVO_ASSERT(partition_id < layout().cells.size());
  const Meter* const known = layout().cells[partition_id]->meter.load(std::memory_order_acquire);
  if (known == nullptr) return {};
  for (auto& hot : known->hot_keys.top(SIZE_MAX, coarse_now_s())) {
    if (hot.partition_key == partition_key) return std::move(hot);
  }
  return {};
}

}  // namespace octavo::partitioning

#include "partitioning/database_updates.h"

#include <charconv>

#include <fmt/format.h>

namespace octavo::partitioning {

DatabaseUpdates::DatabaseUpdates(std::string run_tag) : run_tag_(std::move(run_tag)) {}

void DatabaseUpdates::put(std::string_view database, Kind kind) {
  std::uint64_t& newest = newest_[std::string(database)];
  if (newest != 0) events_.erase(newest);
  newest = ++last_;
  events_[last_] = Event{last_, std::string(database), kind};
}

void DatabaseUpdates::record(std::string_view database, Kind kind) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    put(database, kind);
  }
  notifier_.notify_all();
}

void DatabaseUpdates::record_commit(const std::atomic<const std::string*>& database, const std::atomic<bool>& deleted) {
  {
    // Both change before that is recorded, so their values under the lock tell which comes first.
    std::lock_guard<std::mutex> lock(mutex_);
    if (deleted.load(std::memory_order_acquire)) return;
    put(*database.load(std::memory_order_acquire), Kind::updated);
  }
  notifier_.notify_all();
}

void DatabaseUpdates::record_all(const std::set<std::string>& databases) {
  std::lock_guard<std::mutex> lock(mutex_);
  newest_.reserve(databases.size());
  for (const std::string& database : databases) {
    newest_.emplace(database, ++last_);
    events_.emplace_hint(events_.end(), last_, Event{last_, database, Kind::created});
  }
}

std::vector<DatabaseUpdates::Event> DatabaseUpdates::since(std::uint64_t since, std::size_t limit) const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Event> found;
  for (auto event = events_.upper_bound(since); event != events_.end() && found.size() < limit; ++event) {
    found.push_back(event->second);
  }
  return found;
}

std::uint64_t DatabaseUpdates::last_sequence() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

std::string DatabaseUpdates::format_sequence(std::uint64_t sequence) const {
  return fmt::format("{}-{}", sequence, run_tag_);
}

std::optional<std::uint64_t> DatabaseUpdates::parse_sequence(std::string_view text) const {
  if (text == "now") return last_sequence();
  std::uint64_t sequence = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sequence);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view tag = text.substr(static_cast<std::size_t>(end - text.data()));
  if (!tag.empty() && tag.front() != '-') return std::nullopt;
  if (!tag.empty() && tag.substr(1) != run_tag_) return 0;
  return sequence > last_sequence() ? 0 : sequence;
}

Task<bool> DatabaseUpdates::wait(std::uint64_t after, std::chrono::steady_clock::time_point deadline) {
  while (true) {
    const std::uint64_t epoch = notifier_.epoch();
    if (last_sequence() > after) co_return true;
    const bool notified = co_await notifier_.wait(epoch, deadline);
    if (!notified) co_return last_sequence() > after;
  }
}

}  // namespace octavo::partitioning

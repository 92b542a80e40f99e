#include "query/follow/active_tasks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/unix_time.h"

namespace octavo::query {

int ActiveTask::progress_percent() const {
  if (total_changes == 0) return 0;
  return static_cast<int>(std::min<std::uint64_t>(100, changes_done * 100 / total_changes));
}

double ActiveTask::changes_per_second() const {
  return static_cast<double>(changes_done) / static_cast<double>(std::max<std::int64_t>(1, updated_on - started_on));
}

std::int64_t ActiveTask::remaining_s() const {
  if (changes_done == 0 || total_changes <= changes_done) return changes_done == 0 ? -1 : 0;
  return static_cast<std::int64_t>(static_cast<double>(total_changes - changes_done) / changes_per_second());
}

ActiveTasks::Handle::Handle(Handle&& other) noexcept
    : registry_(std::exchange(other.registry_, nullptr)), number_(other.number_) {}

ActiveTasks::Handle& ActiveTasks::Handle::operator=(Handle&& other) noexcept {
  std::swap(registry_, other.registry_);
  std::swap(number_, other.number_);
  return *this;
}

ActiveTasks::Handle::~Handle() {
  if (!registry_) return;
  const std::lock_guard lock(registry_->mutex_);
  registry_->tasks_.erase(number_);
}

void ActiveTasks::Handle::report(std::uint64_t changes_done, std::uint64_t total_changes) {
  if (!registry_) return;
  const std::lock_guard lock(registry_->mutex_);
  OCTAVO_ASSERT(registry_->tasks_.contains(number_));
  auto& task = registry_->tasks_[number_];
  task.changes_done = changes_done;
  task.total_changes = std::max(total_changes, changes_done);
  task.updated_on = unix_now_s();
}

void ActiveTasks::Handle::enter_phase(std::string phase) {
  if (!registry_) return;
  const std::lock_guard lock(registry_->mutex_);
  OCTAVO_ASSERT(registry_->tasks_.contains(number_));
  auto& task = registry_->tasks_[number_];
  task.phase = std::move(phase);
  task.updated_on = unix_now_s();
}

ActiveTasks::Handle ActiveTasks::start(ActiveTask task) {
  const std::lock_guard lock(mutex_);
  const auto number = ++last_number_;
  task.id = fmt::format("<0.{}.0>", number);
  task.started_on = task.updated_on = unix_now_s();
  tasks_.emplace(number, std::move(task));
  return Handle(*this, number);
}

std::vector<ActiveTask> ActiveTasks::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<ActiveTask> all;
  all.reserve(tasks_.size());
  for (const auto& [number, task] : tasks_) all.push_back(task);
  return all;
}

}  // namespace octavo::query

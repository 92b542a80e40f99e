#include "base/jobs/repeated_job.h"

#include <exception>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/memory_retry.h"

namespace octavo {

namespace {

constexpr RepeatedJob::Milliseconds after_failure{5'000};

}  // namespace

RepeatedJob::RepeatedJob(boost::asio::thread_pool& pool, Job job)
    : job_(std::move(job)), alarm_(std::make_shared<Alarm>(pool)), jobs_(pool) {
  alarm_->owner = this;
}

void RepeatedJob::start(Milliseconds delay) {
  const std::lock_guard lock(alarm_->mutex);
  if (alarm_->owner == nullptr) return;
  if (alarm_->goes_on) {
    alarm_->started_again = delay;
    return;
  }
  alarm_->goes_on = true;
  set(alarm_, delay);
}

void RepeatedJob::run_now() {
  const std::lock_guard lock(alarm_->mutex);
  if (alarm_->owner == nullptr || !alarm_->goes_on) return;
  if (alarm_->running) {
    alarm_->hurried = true;
  } else {
    set(alarm_, Milliseconds{0});
  }
}

void RepeatedJob::stop() {
  {
    const std::lock_guard lock(alarm_->mutex);
    alarm_->owner = nullptr;
    alarm_->timer.cancel();
  }
  jobs_.stop();
}

// Call with the alarm's mutex held.
void RepeatedJob::set(const std::shared_ptr<Alarm>& alarm, Milliseconds delay) {
  alarm->timer.expires_after(delay);
  // Must not be skipped: nothing else would start the job again.
  until_memory_suffices([&] {
    alarm->timer.async_wait([alarm, wait = ++alarm->waits](const boost::system::error_code& cancelled) {
      if (cancelled) return;
      const std::lock_guard held(alarm->mutex);
      if (alarm->owner == nullptr || alarm->waits != wait) return;
      OCTAVO_ASSERT(alarm->goes_on && !alarm->running);
      alarm->running = true;
      alarm->owner->jobs_.post([owner = alarm->owner] { owner->run(); });
    });
  });
}

void RepeatedJob::run() {
  std::optional<Milliseconds> pause = after_failure;
  try {
    pause = job_();
  } catch (const std::exception& error) {
    spdlog::warn("background work failed, will try again: {}", error.what());
  }
  const std::lock_guard lock(alarm_->mutex);
  OCTAVO_ASSERT(alarm_->running);
  alarm_->running = false;
  if (alarm_->owner == nullptr) return;
  if (std::exchange(alarm_->hurried, false)) pause = Milliseconds{0};
  const auto again = std::exchange(alarm_->started_again, std::nullopt);
  if (!pause) pause = again;
  alarm_->goes_on = pause.has_value();
  if (pause) set(alarm_, *pause);
}

}  // namespace octavo

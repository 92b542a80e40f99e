#include "config/live_settings.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace octavo::config {

LiveSettings::LiveSettings(Settings settings) : now_(nullptr) {
  versions_.push_back(std::make_unique<const Settings>(std::move(settings)));
  now_.store(versions_.back().get(), std::memory_order_release);
}

bool LiveSettings::replace(Settings settings) {
  const std::lock_guard lock(mutex_);
  auto version = std::ranges::find_if(versions_, [&](const auto& known) { return *known == settings; });
  if (version == versions_.end()) {
    if (versions_.size() >= versions_max) return false;
    versions_.push_back(std::make_unique<const Settings>(std::move(settings)));
    version = std::prev(versions_.end());
  }
  now_.store(version->get(), std::memory_order_release);
  return true;
}

}  // namespace octavo::config

#include "storage/runtime_settings.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "config/validate.h"

namespace octavo::storage {

namespace {

constexpr std::string_view settings_area = "settings";
constexpr std::string_view not_changeable = "modification_not_allowed";

const config::Setting* setting_named(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? nullptr : config::find_setting(name.substr(0, dot), name.substr(dot + 1));
}

/// The draft with the value; the error says what is wrong with it.
std::expected<config::Draft, std::string> with_value(config::Draft draft, const config::Setting& setting,
                                                     std::string_view text) {
  if (auto assigned = config::assign(draft, setting, text); !assigned) return std::unexpected(assigned.error());
  return draft;
}

}  // namespace

RuntimeSettings::RuntimeSettings(Catalog& catalog, config::LiveSettings& live)
    : catalog_(catalog), live_(live), configured_(live.now()) {}

Expected<void> RuntimeSettings::load() {
  OCTAVO_TRY(const auto facts, catalog_.facts(settings_area));
  const std::lock_guard lock(mutex_);
  stored_ = Stored(facts.begin(), facts.end());
  return put_into_effect(effective(stored_));
}

void RuntimeSettings::set_check(Check check) {
  const std::lock_guard lock(mutex_);
  check_ = std::move(check);
  static_cast<void>(put_into_effect(effective(stored_)));  // a version that is refused leaves the one in effect
}

void RuntimeSettings::observe(Observer observer) {
  const std::lock_guard lock(mutex_);
  observer(live_.now());
  observers_.push_back(std::move(observer));
}

Expected<void> RuntimeSettings::check_may_change(const config::Setting& setting) const {
  const std::string name = setting.toml_name();
  if (!setting.at_run_time) {
    return fail(ErrorCode::forbidden,
                name + " is read when the server starts. Set it in the configuration file" +
                    (setting.flag().empty() ? std::string()
                                            : ", " + setting.environment_variable() + " in the environment or " +
                                                  setting.flag() + " on the command line") +
                    ", and restart.",
                not_changeable);
  }
  if (const auto source = configured_.sources.by_name.find(name); source != configured_.sources.by_name.end()) {
    return fail(
        ErrorCode::forbidden,
        name + " is given by " + source->second + ", which is stronger than a change at run time. Change it there.",
        not_changeable);
  }
  return {};
}

std::expected<void, std::string> RuntimeSettings::check(const config::Settings& settings) const {
  if (auto valid = config::validate_change(settings); !valid) return valid;
  return check_ ? check_(settings) : std::expected<void, std::string>();
}

// One value may need another one: a large document needs a large request. So those that cannot be used are tried again
// after the others.
config::Settings RuntimeSettings::effective(const Stored& stored) const {
  config::Draft draft = config::draft_of(configured_);
  std::map<std::string, std::string> refused;
  Stored waiting = stored;
  for (bool progress = true; progress && !waiting.empty();) {
    progress = false;
    refused.clear();
    for (auto entry = waiting.begin(); entry != waiting.end();) {
      const auto& [name, text] = *entry;
      const config::Setting* setting = setting_named(name);
      if (setting == nullptr || !setting->at_run_time) {
        spdlog::warn("{} was set at run time, but there is no such setting that can change; it is ignored", name);
      } else if (!configured_.sources.by_name.contains(name)) {
        auto next = with_value(draft, *setting, text);
        const auto checked = next ? check(*next) : std::unexpected(next.error());
        if (checked) {
          draft = *std::move(next);
          progress = true;
        } else {
          refused[name] = checked.error();
          ++entry;
          continue;
        }
      }
      entry = waiting.erase(entry);
    }
  }
  for (const auto& [name, reason] : refused) {
    spdlog::warn("{} was set at run time, but cannot be used now and is ignored: {}", name, reason);
  }
  return static_cast<config::Settings&&>(std::move(draft));
}

Expected<void> RuntimeSettings::put_into_effect(config::Settings settings) {
  if (!live_.replace(std::move(settings))) {
    return fail(ErrorCode::overloaded, "The settings have been changed too often since the start. Restart the server.");
  }
  for (const auto& observer : observers_) observer(live_.now());
  return {};
}

Expected<void> RuntimeSettings::set(const config::Setting& setting, std::string_view text) {
  const std::lock_guard lock(mutex_);
  OCTAVO_TRY_VOID(check_may_change(setting));
  const std::string name = setting.toml_name();
  const auto next = with_value(config::draft_of(live_.now()), setting, text);
  if (!next) return fail(ErrorCode::bad_request, name + ": " + (setting.secret ? "invalid value" : next.error()));
  if (const auto checked = check(*next); !checked) return fail(ErrorCode::bad_request, checked.error());
  Stored stored = stored_;
  stored.insert_or_assign(name, std::string(text));
  OCTAVO_TRY_VOID(catalog_.set_fact(settings_area, name, text));
  stored_ = std::move(stored);
  return put_into_effect(*next);
}

Expected<bool> RuntimeSettings::erase(const config::Setting& setting) {
  const std::lock_guard lock(mutex_);
  OCTAVO_TRY_VOID(check_may_change(setting));
  const std::string name = setting.toml_name();
  Stored stored = stored_;
  if (stored.erase(name) == 0) return false;
  config::Draft next = config::draft_of(live_.now());
  config::copy_value(next, config::draft_of(configured_), setting);
  if (const auto checked = check(next); !checked) return fail(ErrorCode::bad_request, checked.error());
  OCTAVO_TRY_VOID(catalog_.erase_fact(settings_area, name));
  stored_ = std::move(stored);
  OCTAVO_TRY_VOID(put_into_effect(next));
  return true;
}

bool RuntimeSettings::is_stored(const config::Setting& setting) const {
  const std::lock_guard lock(mutex_);
  return stored_.contains(setting.toml_name());
}

Expected<void> RuntimeSettings::reconfigure(const config::Settings& configured) {
  const std::lock_guard lock(mutex_);
  config::Draft next = config::draft_of(configured_);
  const config::Draft wanted = config::draft_of(configured);
  for (const config::Setting& setting : config::setting_table()) {
    if (setting.at_run_time) config::copy_value(next, wanted, setting);
  }
  next.sources = configured.sources;
  configured_ = next;
  return put_into_effect(effective(stored_));
}

void RuntimeSettings::set_reload(Reload reload) {
  const std::lock_guard lock(reload_mutex_);
  reload_ = std::move(reload);
}

Expected<void> RuntimeSettings::reload() {
  const std::lock_guard lock(reload_mutex_);
  return reload_ ? reload_() : Expected<void>();
}

}  // namespace octavo::storage

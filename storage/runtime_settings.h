#pragma once

#include <expected>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "config/live_settings.h"
#include "config/setting_table.h"
#include "storage/catalog.h"

namespace octavo::storage {

/// The settings that were changed while the server ran. The catalog keeps them, and they are stronger than the defaults
/// but weaker than what the file, the environment and the flags say (config::Settings::sources).
///
/// Every change of settings passes through this class, those by SIGHUP too: it computes the settings in effect and
/// replaces the version that all threads read. Thread-safe; changes wait for each other.
///
/// Format (settings in the catalog):
///   area "settings", name of the setting ("cors.enabled") → its value as an environment variable has it ("true")
class RuntimeSettings {
 public:
  using Check = std::function<std::expected<void, std::string>(const config::Settings&)>;
  using Observer = std::function<void(const config::Settings&)>;
  using Reload = std::function<Expected<void>()>;

  /// `live` has the settings as configured. `catalog` and `live` must outlive this.
  RuntimeSettings(Catalog& catalog, config::LiveSettings& live);

  /// Reads the catalog and puts its settings into effect. Values that cannot be used (any more) are logged and ignored.
  Expected<void> load();

  /// What the system allows beyond config::validate_change(). Call it before requests are served.
  void set_check(Check check);
  /// Called with the settings now, and after each change, by the thread that changes them.
  void observe(Observer observer);

  /// Changes a setting that is not a table, durably. `text` is like an environment variable's. Errors: forbidden
  /// (changes only at the start, or is given elsewhere: the reason says where), bad_request (value), those of storage.
  Expected<void> set(const config::Setting& setting, std::string_view text);
  /// Forgets the value of set(): the default is in effect again. False: there was none. Errors: those of set().
  Expected<bool> erase(const config::Setting& setting);
  /// Whether the catalog has a value of this setting.
  bool is_stored(const config::Setting& setting) const;

  /// Replaces what was configured. Settings that change only at the start stay as they are.
  Expected<void> reconfigure(const config::Settings& configured);

  /// Reads the configuration again by what set_reload() was given. Without that it does nothing.
  void set_reload(Reload reload);
  Expected<void> reload();

 private:
  using Stored = std::map<std::string, std::string, std::less<>>;

  Expected<void> check_may_change(const config::Setting& setting) const;
  std::expected<void, std::string> check(const config::Settings& settings) const;
  config::Settings effective(const Stored& stored) const;
  Expected<void> put_into_effect(config::Settings settings);

  Catalog& catalog_;
  config::LiveSettings& live_;
  mutable std::mutex mutex_;  ///< guards the members below
  config::Settings configured_;
  Stored stored_;
  Check check_;
  std::vector<Observer> observers_;
  std::mutex reload_mutex_;  ///< guards reload_; is held while it runs
  Reload reload_;
};

}  // namespace octavo::storage

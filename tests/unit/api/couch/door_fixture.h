#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "api/couch/auth/authenticator.h"
#include "api/couch/door.h"
#include "api/http/metrics.h"
#include "partitioning/engine.h"
#include "support/door_driver.h"

namespace octavo::tests {

/// The Couch door over a real engine in a folder of its own.
class CouchDoor final : public DoorDriver {
 public:
  /// What a test puts below the door, beyond the plain engine.
  struct Parts {
    partitioning::ExtensionFactory extensions;
    storage::FaultInjector* faults = nullptr;
    config::Durability durability = config::Durability::ephemeral;
  };
  explicit CouchDoor(config::Settings settings = {}) : CouchDoor(std::move(settings), Parts()) {}
  CouchDoor(config::Settings settings, Parts parts) : settings_(std::move(settings)), parts_(std::move(parts)) {
    static int counter = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("octavo-door-" + std::to_string(::getpid()) + "-" + std::to_string(counter++));
    settings_.data_dir = folder_;
    settings_.durability = parts_.durability;
    open();
  }
  ~CouchDoor() override {
    close();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  /// Ends the engine and opens its folder again.
  void restart() {
    close();
    open();
  }
  CouchDoor(const CouchDoor&) = delete;
  CouchDoor& operator=(const CouchDoor&) = delete;

  partitioning::Engine& engine() { return *engine_; }
  const config::Settings& settings() const { return settings_; }

 private:
  api::Handler& door() override { return *door_; }
  void open() {
    engine_ = partitioning::Engine::open(settings_, parts_.extensions, parts_.faults).value();
    authenticator_ = api::couch::Authenticator::create(settings_, *engine_).value();
    door_ = std::make_unique<api::couch::Door>(api::couch::Services{.engine = *engine_,
                                                                    .authenticator = *authenticator_,
                                                                    .metrics = metrics_,
                                                                    .settings = settings_,
                                                                    .active_tasks = nullptr});
  }
  void close() {
    door_.reset();
    authenticator_.reset();
    if (engine_) engine_->shut_down();
    engine_.reset();
  }

  config::Settings settings_;
  Parts parts_;
  std::filesystem::path folder_;
  api::HttpMetrics metrics_{1};
  std::unique_ptr<partitioning::Engine> engine_;
  std::unique_ptr<api::couch::Authenticator> authenticator_;
  std::unique_ptr<api::couch::Door> door_;
};

}  // namespace octavo::tests

#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "api/couch/auth/authenticator.h"
#include "api/couch/couch_api.h"
#include "api/http/metrics.h"
#include "partitioning/engine.h"
#include "support/api_driver.h"

namespace octavo::tests {

/// The CouchDB API over a real engine in a folder of its own.
class CouchApiFixture final : public ApiDriver {
 public:
  /// What a test puts below the API, beyond the plain engine.
  struct Parts {
    partitioning::ExtensionFactory extensions;
    storage::FaultInjector* faults = nullptr;
    config::Durability durability = config::Durability::ephemeral;
  };
  explicit CouchApiFixture(config::Settings settings = {}) : CouchApiFixture(std::move(settings), Parts()) {}
  CouchApiFixture(config::Settings settings, Parts parts) : settings_(std::move(settings)), parts_(std::move(parts)) {
    static int counter = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("octavo-couch-api-" + std::to_string(::getpid()) + "-" + std::to_string(counter++));
    settings_.data_dir = folder_;
    settings_.durability = parts_.durability;
    open();
  }
  ~CouchApiFixture() override {
    close();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  /// Ends the engine and opens its folder again.
  void restart() {
    close();
    open();
  }
  CouchApiFixture(const CouchApiFixture&) = delete;
  CouchApiFixture& operator=(const CouchApiFixture&) = delete;

  partitioning::Engine& engine() { return *engine_; }
  const config::Settings& settings() const { return settings_; }

 private:
  api::Handler& handler() override { return *api_; }
  void open() {
    engine_ = partitioning::Engine::open(settings_, parts_.extensions, parts_.faults).value();
    authenticator_ = api::couch::Authenticator::create(settings_, *engine_).value();
    api_ = std::make_unique<api::couch::CouchApi>(api::couch::Services{.engine = *engine_,
                                                                       .authenticator = *authenticator_,
                                                                       .metrics = metrics_,
                                                                       .settings = settings_,
                                                                       .active_tasks = nullptr});
  }
  void close() {
    api_.reset();
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
  std::unique_ptr<api::couch::CouchApi> api_;
};

}  // namespace octavo::tests

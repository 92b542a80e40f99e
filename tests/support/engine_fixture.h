#pragma once

#include <exception>
#include <optional>
#include <stdexcept>

#include <boost/asio/co_spawn.hpp>

#include "partitioning/engine.h"
#include "support/temporary_folder.h"

namespace octavo::tests {

/// Runs a task to its end on an I/O context of its own.
template <class T>
T run_task(Task<T> task) {
  boost::asio::io_context context(1);
  std::optional<T> result;
  std::exception_ptr thrown;
  boost::asio::co_spawn(context.get_executor(), std::move(task), [&](std::exception_ptr error, T value) {
    thrown = error;
    result = std::move(value);
  });
  context.run();
  if (thrown) std::rethrow_exception(thrown);
  return std::move(*result);
}

/// An engine on a temporary folder, without syncs. `faults` must outlive it.
class EngineFixture {
 public:
  explicit EngineFixture(partitioning::ExtensionFactory extensions = {}, config::Settings settings = {},
                         storage::FaultInjector* faults = nullptr)
      : settings_(std::move(settings)), extensions_(std::move(extensions)), faults_(faults) {
    settings_.data_dir = folder_.path() / "data";
    settings_.durability = config::Durability::ephemeral;
    start();
  }

  void start() {
    auto opened = partitioning::Engine::open(settings_, extensions_, faults_);
    if (!opened) throw std::runtime_error(opened.error().reason);
    engine_ = std::move(*opened);
    engine_->moves().start();
  }
  void stop() { engine_.reset(); }

  std::shared_ptr<partitioning::Database> create(std::string_view name,
                                                 partitioning::CreateDatabaseOptions options = {}) {
    auto created = engine_->create_database(name, options);
    if (!created) throw std::runtime_error(created.error().reason);
    return *created;
  }

  /// Writes one document; throws when refused.
  static storage::WrittenDocument put(partitioning::Database& database, std::string id, std::string body,
                                      std::optional<storage::Revision> parent = {}, bool deleted = false) {
    storage::DocumentWrite write;
    write.id = std::move(id);
    write.body = std::move(body);
    write.parent = parent;
    write.deleted = deleted;
    std::vector<storage::DocumentWrite> writes;
    writes.push_back(std::move(write));
    auto results = run_task(database.write(std::move(writes)));
    if (!results.front()) throw std::runtime_error(results.front().error().reason);
    return *results.front();
  }

  partitioning::Engine& engine() { return *engine_; }
  config::Settings& settings() { return settings_; }

 private:
  TemporaryFolder folder_;
  config::Settings settings_;
  partitioning::ExtensionFactory extensions_;
  storage::FaultInjector* const faults_;
  std::unique_ptr<partitioning::Engine> engine_;
};

}  // namespace octavo::tests

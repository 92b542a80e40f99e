#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/models/container_definition.h"
#include "partitioning/engine.h"

namespace octavo::api::cosmos {

/// A database of the Cosmos DB API: a prefix of containers' names, and shared throughput.
struct DatabaseDefinition {
  std::string id;
  std::string rid;  ///< 4 bytes
  std::string etag;
  std::int64_t modified_s = 0;
  std::optional<Throughput> throughput;
  std::string offer_rid;
  std::string offer_etag;

  std::string self_link() const;
  std::string to_json() const;
};

/// The throughput of a database or a container.
struct Offer {
  std::string id;  ///< `_rid` in base64
  std::string etag;
  std::string resource_link;  ///< `_self` of the database or container
  std::string resource_rid;   ///< in base64
  std::string database;       ///< ids
  std::string container;      ///< empty: the database's
  Throughput throughput;
  std::int64_t modified_s = 0;

  std::string to_json() const;
};

/// Databases, containers and offers, stored in the catalog. Functions wait for the disk, unless they only read memory:
/// call them through Engine::run_blocking. Thread-safe; changes are serialised.
class Registry {
 public:
  explicit Registry(partitioning::Engine& engine) : engine_(engine) {}

  Expected<std::optional<DatabaseDefinition>> database(std::string_view id) const;
  /// In the order of their ids, those after `after`.
  Expected<std::vector<DatabaseDefinition>> databases(std::string_view after, std::size_t count_max) const;
  /// Errors: conflict (exists), disk errors.
  Expected<DatabaseDefinition> create_database(std::string id, std::optional<Throughput> throughput);
  /// Deletes its containers too. `etag`, here and below: the required ETag. Errors: not_found, precondition_failed.
  Expected<void> delete_database(std::string_view id, const std::optional<std::string>& etag);

  Expected<std::vector<ContainerDefinition>> containers(std::string_view database, std::string_view after,
                                                        std::size_t count_max) const;
  /// Errors: owner_missing, conflict.
  Expected<ContainerDefinition> create_container(std::string_view database, ContainerDefinition definition);
  Expected<ContainerDefinition> replace_container(std::string_view database, std::string_view id,
                                                  const boost::json::object& body,
                                                  const std::optional<std::string>& etag);
  Expected<void> delete_container(std::string_view database, std::string_view id,
                                  const std::optional<std::string>& etag);

  Expected<std::vector<Offer>> offers() const;
  Expected<Offer> replace_offer(std::string_view id, Throughput throughput, const std::optional<std::string>& etag);

  /// For changes of related data, such as users: blocks all other changes until the lock is released.
  std::unique_lock<std::mutex> hold_changes() { return std::unique_lock(changes_); }

 private:
  Expected<void> store(const DatabaseDefinition& definition);
  Expected<ContainerDefinition> stored_container(std::string_view name) const;

  partitioning::Engine& engine_;
  std::mutex changes_;
};

/// A new random ETag, for a write of a resource without revisions.
std::string new_etag();

}  // namespace octavo::api::cosmos

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cosmos/container_definition.h"
#include "partitioning/engine.h"

namespace octavo::api::cosmos {

/// A database of this dialect: a name in front of containers' names, and throughput to share.
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

/// One of the two things that throughput is given to.
struct Offer {
  std::string id;  ///< shown rid
  std::string etag;
  std::string resource_link;  ///< `_self` of the database or container
  std::string resource_rid;   ///< shown
  std::string database;       ///< ids
  std::string container;      ///< empty: the database's
  Throughput throughput;
  std::int64_t modified_s = 0;

  std::string to_json() const;
};

/// Databases, containers and offers: what is kept in the catalog. All functions but those that read memory only wait
/// for the disk: call them through Engine::run_blocking. Thread-safe; changes wait for each other.
class Schema {
 public:
  explicit Schema(partitioning::Engine& engine) : engine_(engine) {}

  Expected<std::optional<DatabaseDefinition>> database(std::string_view id) const;
  /// In order of their ids, after `after`.
  Expected<std::vector<DatabaseDefinition>> databases(std::string_view after, std::size_t count_max) const;
  /// Errors: conflict (exists), those of the disk.
  Expected<DatabaseDefinition> create_database(std::string id, std::optional<Throughput> throughput);
  /// With its containers. `etag`, here and below: what the resource's must be; otherwise precondition_failed.
  /// Errors: not_found.
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

  /// For changes of what is kept beside, such as users: no other change happens until the lock goes.
  std::unique_lock<std::mutex> hold_changes() { return std::unique_lock(changes_); }

 private:
  Expected<void> store(const DatabaseDefinition& definition);
  Expected<ContainerDefinition> stored_container(std::string_view name) const;

  partitioning::Engine& engine_;
  std::mutex changes_;
};

/// Texts that change with each write of a resource without revisions.
std::string new_etag();

}  // namespace octavo::api::cosmos

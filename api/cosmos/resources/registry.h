#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cosmos/resources/database_definition.h"
#include "api/cosmos/resources/offer.h"
#include "api/models/container_definition.h"
#include "api/models/cosmos_databases.h"
#include "api/models/throughput.h"
#include "partitioning/engine.h"

namespace octavo::api::cosmos {

/// Databases, containers and offers, stored in the catalog. Functions wait for the disk, unless they only read memory:
/// call them through Workers::run_blocking. Thread-safe; changes are serialised.
class Registry final : public CosmosDatabases {
 public:
  explicit Registry(partitioning::Engine& engine) : engine_(engine) {}

  Expected<std::optional<DatabaseDefinition>> database(std::string_view id) const;
  /// In the order of their ids, those after `after`.
  Expected<std::vector<DatabaseDefinition>> databases(std::string_view after, std::size_t count_max) const;
  /// Errors: conflict (exists), disk errors.
  Expected<DatabaseDefinition> create_database(std::string id, std::optional<Throughput> throughput);
  /// The id of the database that an alias leads to; any other id itself. Does not wait for the disk.
  std::string resolve(std::string_view id) const;
  Expected<void> rename_database(std::string_view id, const std::string& name, bool keep_alias) override;
  Expected<Names> names_of(std::string_view id) const override;
  Expected<void> add_alias(std::string_view id, const std::string& alias) override;
  Expected<void> remove_alias(std::string_view id, const std::string& alias) override;
  /// Deletes its containers and aliases too. `etag`, here and below: the required ETag. Errors: not_found,
  /// precondition_failed.
  Expected<void> delete_database(std::string_view id, const std::optional<std::string>& etag);

  Expected<std::vector<ContainerDefinition>> containers(std::string_view database, std::string_view after,
                                                        std::size_t count_max) const;
  /// Errors: owner_missing, conflict.
  Expected<ContainerDefinition> create_container(std::string_view database, ContainerDefinition definition,
                                                 const partitioning::DatabaseOrigin& origin) override;
  Expected<ContainerDefinition> replace_container(std::string_view database, std::string_view id,
                                                  const boost::json::object& body,
                                                  const std::optional<std::string>& etag);
  Expected<void> delete_container(std::string_view database, std::string_view id,
                                  const std::optional<std::string>& etag);

  /// Without the bytes stored.
  Expected<std::vector<Offer>> offers() const;
  /// Fills in the bytes stored in what shares the throughput, and whether it is being split. Opens those databases.
  Expected<void> measure(Offer& offer) const;
  /// Error bad_request: the throughput is too low for the bytes stored.
  Expected<Offer> replace_offer(std::string_view id, Throughput throughput, const std::optional<std::string>& etag);

  /// For changes of related data, such as users: blocks all other changes until the lock is released.
  std::unique_lock<std::mutex> hold_changes() { return std::unique_lock(changes_); }

 private:
  Expected<DatabaseDefinition> present(std::string_view id) const;
  Expected<void> store(const DatabaseDefinition& definition);
  Expected<ContainerDefinition> stored_container(std::string_view name) const;

  partitioning::Engine& engine_;
  std::mutex changes_;
};

/// Errors: bad_request.
Expected<void> check_database_id(std::string_view id);

/// A new random ETag, for a write of a resource without revisions.
std::string new_etag();

}  // namespace octavo::api::cosmos

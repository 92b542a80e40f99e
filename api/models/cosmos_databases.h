#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "partitioning/engine.h"

namespace octavo::api::cosmos {

struct ContainerDefinition;

/// What the CouchDB API does with databases of the Azure Cosmos DB API, which are not databases of the engine.
/// Functions wait for the disk. Thread-safe.
class CosmosDatabases {
 public:
  /// Errors: not_found: there is no such database; conflict: the container exists; those of Engine::create_database.
  virtual Expected<ContainerDefinition> create_container(std::string_view database, ContainerDefinition definition,
                                                         const partitioning::DatabaseOrigin& origin) = 0;
  /// Gives the database `id`, or the one that this alias leads to, another id, in one step with its containers, users,
  /// permissions and keys; requests that run continue. With `keep_alias` its id of before leads to it. Errors:
  /// not_found; bad_request; precondition_failed (the name is taken); those of the disk.
  virtual Expected<void> rename_database(std::string_view id, const std::string& name, bool keep_alias) = 0;

  struct Names {
    std::string id;
    std::vector<std::string> aliases;  ///< in byte order
  };
  /// Errors: not_found.
  virtual Expected<Names> names_of(std::string_view id) const = 0;
  /// Errors: those of rename_database.
  virtual Expected<void> add_alias(std::string_view id, const std::string& alias) = 0;
  /// Errors: not_found.
  virtual Expected<void> remove_alias(std::string_view id, const std::string& alias) = 0;

 protected:
  ~CosmosDatabases() = default;
};

}  // namespace octavo::api::cosmos

#pragma once

#include <memory>
#include <optional>
#include <string>

#include <boost/json.hpp>

#include "api/couch/call/call.h"
#include "api/models/container_definition.h"
#include "partitioning/engine.h"
#include "query/project/row_program.h"

namespace octavo::api::couch {

/// The target that a definition of a projection, or of a copy, describes by a member `create`: a container of the Azure
/// Cosmos DB API, or a database of this one. A value type.
class TargetCreation {
 public:
  /// What errors name: the member, the one with the name of the target, and the word for bad definitions.
  struct Words {
    std::string_view member;
    std::string_view target;
    std::string_view syntax;
  };
  static constexpr Words of_projection{"`target.create`", "`target.db`", "projection_syntax"};
  static constexpr Words of_copy{"`create`", "`target`", "copy_syntax"};

  /// Checks what the creation of such a database checks. Errors: bad_request, naming the member.
  static Expected<TargetCreation> parse(const Services& services, const Words& words, std::string name,
                                        const boost::json::object& create);

  query::project::RowTarget kind() const { return {container_.has_value(), container_ || options_.partitioned}; }
  /// Error precondition_failed (`target_differs`): the database has its documents elsewhere.
  Expected<void> check_fit(const partitioning::Database& present) const;
  /// Creates it. Waits for the disk. Errors: not_found (`target_missing`): it would be a container of no database;
  /// precondition_failed, conflict: it exists; those of the disk.
  /// Whether this error of create() says that the target exists.
  static bool is_taken(const Error& error) {
    return error.code == ErrorCode::precondition_failed || error.code == ErrorCode::conflict;
  }
  Expected<std::shared_ptr<partitioning::Database>> create(const Services& services,
                                                           const partitioning::DatabaseOrigin& origin = {}) const;

 private:
  Expected<void> read_container(boost::json::object create);
  Expected<void> read_database(const Services& services, const boost::json::object& create);

  explicit TargetCreation(const Words& words) : words_(&words) {}
  std::unexpected<Error> bad_creation(std::string_view why) const;
  std::unexpected<Error> target_differs(std::string_view how) const;

  const Words* words_;
  std::string name_;
  std::optional<cosmos::ContainerDefinition> container_;  ///< nullopt: it is a database of the CouchDB API
  std::string owner_;                                     ///< the container's database
  bool names_version_ = false;                            ///< the version of the container's key was given
  partitioning::CreateDatabaseOptions options_;
};

/// Removes a target that was created for a projection, or a copy, which was not stored, unless another client uses it
/// meanwhile.
void remove_unused(partitioning::Engine& engine, const partitioning::Database& created);

}  // namespace octavo::api::couch

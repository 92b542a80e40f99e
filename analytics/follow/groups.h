#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "analytics/channel/table_place.h"
#include "analytics/follow/definition.h"
#include "partitioning/database.h"
#include "partitioning/engine.h"

/// Groups of databases: one DuckDB has the tables of all that name the group, so that a query can join them. Who may read
/// them all may ask it: SQL can name everything in a DuckDB.
///
/// Format (facts of analytical groups):
///   area "analytics_group:" and hex_identity(group)   tag of the database → name of the database when it joined
///                                                      its definition may name the group
namespace octavo::analytics {

struct GroupMember {
  Definition definition;
  std::string database;
  std::string instance_tag;
};

class Groups {
 public:
  /// The databases of a group. Reads the catalog, and forgets databases that are gone.
  static Expected<std::vector<GroupMember>> members(storage::Catalog& catalog, std::string_view group);
  /// Stores the definition of the database's store, whatever it was before. Error conflict: another database of the
  /// group has the name.
  Expected<void> store(partitioning::Database& database, const Definition& definition);
  Expected<void> erase(partitioning::Database& database);

 private:
  std::mutex mutex_;  ///< held while a name is looked for and taken
};

/// Where the table of a store is: in the folder of the database, with which it goes, or in that of its group.
TablePlace place_of(partitioning::Database& database, const Definition& definition);
/// Removes the table's files.
void remove_files(const TablePlace& place);
/// Removes files of groups that belong to no store, as a crash may leave them. Before any store is opened or defined.
void remove_unused_group_files(partitioning::Engine& engine);

}  // namespace octavo::analytics

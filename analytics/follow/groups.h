#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "analytics/channel/table_place.h"
#include "analytics/follow/definition.h"
#include "partitioning/database.h"
#include "partitioning/engine.h"

/// Groups of databases: one DuckDB has the tables of all that name the group, so that a query can join them. Who may
/// read them all may ask it: SQL can name everything in a DuckDB.
///
/// A group has a key, which stays, and a name, which changes with that of the Cosmos database whose containers are in
/// it. Definitions and folders have the key. It is the name that the group had first, unless another group had that
/// before.
///
/// Format (facts of analytical groups):
///   area "analytics_group:" and hex_identity(key)   tag of the database → name of the database when it joined
///                                                    its definition may have the key
///   area "analytics_group_keys"                      hex_identity(name) → {"name":…,"key":…}
///                                                    of names that are not the key of their group
namespace octavo::analytics {

struct GroupMember {
  Definition definition;
  std::string database;
  std::string instance_tag;
};

struct Group {
  std::string name;
  std::string key;
};

// These read the catalog.

/// The group with this name, which need not have members. A name that is that of no group with members may be an alias
/// of a Cosmos database, and then means its group.
Expected<Group> find_group(partitioning::Engine& engine, std::string_view name);
/// The key that a name has, whatever it is an alias of.
Expected<std::string> key_of_group(storage::Catalog& catalog, std::string_view name);
Expected<std::string> name_of_group(storage::Catalog& catalog, std::string_view key);
/// The databases of a group. Forgets databases that are gone.
Expected<std::vector<GroupMember>> members_of_group(storage::Catalog& catalog, std::string_view key);
/// What gives the group of a Cosmos database the database's next name, whether or not it has members: a store may be
/// about to be defined. Error precondition_failed: there is a group with that name.
Expected<std::vector<storage::FactChange>> facts_of_renamed_group(storage::Catalog& catalog, std::string_view before,
                                                                  std::string_view name);

/// Stores the definitions of the database's store, whatever they were before. Errors: conflict: another database of the
/// group has the name; overloaded: the group, or the container's database, has got another name meanwhile.
Expected<void> store_definitions(partitioning::Database& database, const StoreDefinitions& definitions);
Expected<void> erase_definition(partitioning::Database& database);

/// Where the table of a store is: in the folder of the database, with which it goes, or in that of its group.
TablePlace place_of(partitioning::Database& database, const Definition& definition);
/// Removes the table's files.
void remove_files(const TablePlace& place);
/// Removes files of groups that belong to no store, as a crash may leave them. Before any store is opened or defined.
void remove_unused_group_files(partitioning::Engine& engine);

}  // namespace octavo::analytics

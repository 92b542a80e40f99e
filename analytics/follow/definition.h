#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/error.h"
#include "storage/catalog.h"

/// Format (facts of analytical stores):
///   area of the database   "analytics"           → {"id":…,"build":…,"rereads":…,"by_container":…,"definition":{
///                                                  "mode":"well_defined"|"full_fidelity","include":[…],"flatten":{…},
///                                                  "ttl":…,"group":…,"as":…},"last_build":…,"building":{"build":…,
///                                                  "rereads":…,"definition":{…}}}    building: what is to replace the
///                                                  definition
///   area "analytics"       tag of the database   → (empty)          it may have an analytical store
namespace octavo::analytics {

/// What `PUT /{db}/_analytics` asks for: which columns and tables the documents have.
struct Definition {
  static constexpr std::size_t include_max = 1'000;
  static constexpr std::size_t flatten_max = 8;
  static constexpr std::size_t table_name_bytes_max = 63;

  std::string id;  ///< names the table's file
  /// The number of the table in its file: the table of another definition is built beside the one that answers, and
  /// then takes its place.
  std::uint64_t build = 0;
  /// Names of properties of the top level; empty: all.
  std::vector<std::string> include;
  /// Paths of arrays (ArrayPath), and the names of the tables for their elements.
  boost::json::object flatten;
  /// How long rows stay. 0: as long as their documents; forever: for ever; other numbers: seconds after the last write
  /// of the document, whether or not it still exists.
  std::int64_t ttl_s = 0;
  static constexpr std::int64_t forever = -1;
  /// The databases whose tables can be joined with this one, and the table's name among them; both empty: it is alone.
  std::string group;  ///< its key (groups.h), as in `json`
  std::string as;
  std::string group_name;  ///< the name by which `group` was found; empty: the group is as it was stored
  static constexpr std::size_t group_bytes_max = 1'024;
  static constexpr std::size_t as_bytes_max = 1'024;
  /// A table that has read the feed for another number reads it from the beginning, and keeps its rows.
  std::uint64_t rereads = 0;
  /// The container of the Azure Cosmos DB API asks for the store, which ends when it does not any more.
  bool by_container = false;
  boost::json::object json;  ///< as it was given, with the mode, without a `ttl` of 0, with the group's key

  static std::string new_id();
  /// With a new id. Errors: bad_request with the word analytics_syntax.
  static Expected<Definition> parse(const boost::json::object& json);
  /// That of a container, unless there is another one: its group is its database.
  static Expected<Definition> of_container(std::string_view database_name, std::int64_t seconds);
  /// The same with another time, and a new id.
  Expected<Definition> with_ttl(std::int64_t seconds) const;
  /// The same with another name in the group, and a new id.
  Expected<Definition> with_name(std::string_view name) const;
  /// The names of the store's tables: `documents`, then those of arrays.
  std::vector<std::string> tables() const;
  /// The group is the one with this name, which has this key now.
  void enter_group(std::string_view name, std::string_view key);
  /// The table of a store with this definition can become that of `other`: only the time differs that rows stay.
  bool differs_in_ttl_only(const Definition& other) const;
  /// Whether rows of documents that exist may be missing in a table with this definition that `other` has.
  bool lacks_rows_of(const Definition& other) const;
  /// The tables of both have the same place: those of one can be built beside those of the other.
  bool shares_place_with(const Definition& other) const { return group == other.group && as == other.as; }

 private:
  Expected<Definition> changed_to(const boost::json::object& wanted) const;
};

/// What is stored of an analytical store.
struct StoreDefinitions {
  Definition answering;
  std::optional<Definition> building;  ///< whose table is being built, and takes the place of the other one
  /// The largest number that a table of the file had, also one that was given up: no other table gets it.
  std::uint64_t last_build = 0;

  /// The one that was asked for last.
  const Definition& latest() const { return building ? *building : answering; }
};
/// nullopt: the database has no analytical store.
Expected<std::optional<StoreDefinitions>> definitions_of(storage::Catalog& catalog, std::string_view tag);
/// The one whose table answers.
Expected<std::optional<Definition>> definition_of(storage::Catalog& catalog, std::string_view tag);
/// What stores them.
std::vector<storage::FactChange> facts_of(std::string_view tag, const StoreDefinitions& definitions);
Expected<void> erase_definition(storage::Catalog& catalog, std::string_view tag);
/// Instance tags of databases that may have an analytical store.
Expected<std::vector<std::string>> tags_with_store(storage::Catalog& catalog);
/// Names of the databases that have an analytical store. Forgets those that are gone.
Expected<std::vector<std::string>> databases_with_store(storage::Catalog& catalog);

}  // namespace octavo::analytics

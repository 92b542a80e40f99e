#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo::api::cosmos {

/// The kind of resource that a path names.
enum class Resource : std::uint8_t {
  account,
  database,
  container,
  item,
  range,
  offer,
  user,
  permission,
  operation,
  stored_procedure,
  trigger,
  user_function,
  conflict,
};

/// The path of a request, such as `dbs/{db}/colls/{coll}/docs/{id}`. An odd number of segments names a feed
/// (`dbs/{db}/colls`), an even one a resource in it. A value type.
struct ResourcePath {
  Resource resource = Resource::account;
  bool feed = false;     ///< the list of such resources, not one of them
  std::string database;  ///< ids, percent-decoded; empty if the path has none
  std::string container;
  std::string owner;  ///< permission: id of the user
  std::string id;     ///< of the named resource; empty for a feed

  /// The request's signature covers these: type, and link of the resource or of the owner of the feed.
  std::string_view signed_type;
  std::string signed_link;

  /// Errors: not_found if this API has no such path.
  static Expected<ResourcePath> parse(const std::vector<std::string>& segments);

  /// `dbs/{db}/colls/{coll}`.
  std::string container_link() const { return "dbs/" + database + "/colls/" + container; }
  /// Name of the engine's database that holds the container's items.
  std::string database_name() const { return database + '/' + container; }
};

}  // namespace octavo::api::cosmos

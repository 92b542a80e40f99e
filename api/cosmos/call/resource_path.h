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
  encryption_key,
  operation,
  stored_procedure,
  trigger,
  user_function,
  conflict,
};

/// The path of a request, such as `dbs/{db}/colls/{coll}/docs/{id}`. An odd number of segments names a feed
/// (`dbs/{db}/colls`), an even one a resource in it. Empty segments are ignored, as in Azure Cosmos DB. A value type.
///
/// Clients may write resource ids (`_rid`) for names, as in a `_self` link. `name_resources` (resources/named_path.h)
/// replaces those of databases, containers, users and permissions; the handlers of items and functions replace theirs.
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
  /// Other links that the signature may cover; empty if the path has no resource ids. A link of resource ids is signed
  /// by the last one alone, in lower case.
  std::string signed_rid;
  std::string sent_link;      ///< signed_link before resource ids, or the alias of a database, were replaced
  bool named_by_ids = false;  ///< the client sent resource ids, which were replaced
  std::string alias;          ///< by which the client named the database; empty: by its id

  /// Errors: not_found if this API has no such path.
  static Expected<ResourcePath> parse(const std::vector<std::string>& segments);

  /// The database that the path names has this id. If it is another one, the path named it by an alias.
  void resolve_alias(std::string database_id);
  /// Whether the database or the container may be written as a resource id. It may also be a name of that form.
  bool has_resource_ids() const;
  /// signed_link made of the names above.
  std::string named_link() const;

  /// `dbs/{db}/colls/{coll}`.
  std::string container_link() const { return "dbs/" + database + "/colls/" + container; }
  /// Name of the engine's database that holds the container's items.
  std::string database_name() const { return database + '/' + container; }
};

}  // namespace octavo::api::cosmos

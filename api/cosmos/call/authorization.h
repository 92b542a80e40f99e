#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/cosmos/call/resource_path.h"
#include "api/http/request.h"
#include "config/settings.h"
#include "partitioning/engine.h"

namespace octavo::api::cosmos {

/// The published key of Microsoft's emulator, which sample programs contain. Accepted only from this machine, on a
/// listener that only this machine can reach, while the server has no key and no admins.
inline constexpr std::string_view well_known_key =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// The area of the catalog with the names of permissions by their `_rid`, which is a part of resource tokens
/// (resources/user_records.h).
inline constexpr std::string_view permission_rid_area = "cosmos_permissions_by_rid";

/// The text that the signature of a request covers.
std::string text_to_sign(std::string_view verb, std::string_view type, std::string_view link, std::string_view ms_date,
                         std::string_view date);

/// How a request is authenticated.
enum class Credential : std::uint8_t { account_key, resource_token };

/// Checks the `Authorization` header: a signature by a key of the account, or a resource token. Immutable after
/// construction, so thread-safe; the engine outlives it.
class Authorization {
 public:
  /// `has_admins`: whether the server has admins. Called on any thread.
  Authorization(const config::Settings& settings, partitioning::Engine& engine, std::function<bool()> has_admins);
  ~Authorization();

  /// `reads`: the request changes nothing. Errors: unauthorized, forbidden; the reason says what to do.
  Expected<Credential> check(const Request& request, const ResourcePath& path, bool reads) const;

  /// A token for the holder of a permission (users.cpp). What it allows, and until when, is signed into it. It becomes
  /// invalid when its container is deleted.
  /// `mode`: "All" or "Read", or these in lower case; `link`: the resource, `dbs/{db}/colls/{coll}` or below; `key`:
  /// partition key as JSON or empty.
  std::string resource_token(std::string_view permission_rid, std::string_view mode, std::string_view link,
                             std::string_view key, std::int64_t valid_until_s) const;

 private:
  struct Key;
  Expected<void> check_signature(const Request& request, const ResourcePath& path, std::string_view signature,
                                 bool reads) const;
  Expected<void> check_token(const Request& request, const ResourcePath& path, std::string_view token,
                             bool reads) const;
  /// Whether `link` has the resource id of the item that the request names by its id and partition key.
  bool is_same_item(const Request& request, const ResourcePath& path, std::string_view link) const;
  /// Instance tag of the container that a link names or leads into; empty: no such container.
  std::string container_of_link(std::string_view link) const;
  /// The link with the database's id in place of an alias.
  std::string with_present_database(std::string link) const;
  /// Whether a token for `link`, limited to the partition key `key` (JSON; empty: all keys), allows the request.
  static Expected<void> check_reach(const Request& request, const ResourcePath& path, const std::string& link,
                                    const std::string& key, bool reads);
  bool well_known_key_counts(const Request& request) const;

  const config::Settings& settings_;
  partitioning::Engine& engine_;
  std::function<bool()> has_admins_;
  std::vector<Key> keys_;
  std::unique_ptr<Key> well_known_;
  bool well_known_may_count_ = false;  ///< the settings allow it; each request is checked too
  std::string token_secret_;
};

}  // namespace octavo::api::cosmos

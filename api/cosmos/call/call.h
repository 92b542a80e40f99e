#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>

#include "api/cosmos/call/resource_path.h"
#include "api/http/reply.h"
#include "api/http/request.h"
#include "partitioning/engine.h"
#include "partitioning/keys/typed_key.h"

namespace octavo::query {
class DatabaseServices;
}

namespace octavo::api::cosmos {

class Authorization;
enum class Credential : std::uint8_t;
class Registry;
enum class ItemLinks : std::uint8_t;
struct ContainerDefinition;
struct FormerKey;

/// What every handler uses. Lives as long as the server. `settings` are those in effect when the request began.
struct Services {
  partitioning::Engine& engine;
  const config::Settings& settings;
  const Authorization& authorization;
  Registry& registry;
};

/// Facts about the request for the headers that every reply has. Handlers fill in what they know.
struct Accounting {
  double request_charge = 1.0;
  double lookup_charge = 0;                          ///< of finding an item by its resource id; added to the above
  std::shared_ptr<partitioning::Database> database;  ///< its throughput is charged; null: none
  std::size_t partition_id = 0;                      ///< charged physical partition, or the first of them
  /// The item, if the request names one and is recorded for advice.
  std::optional<partitioning::PointRequests::DocumentHash> recorded_item = {};
  std::vector<std::size_t> partition_ids;                ///< all charged partitions, if there are several
  std::string partition_key;                             ///< empty: several or none
  std::shared_ptr<const ContainerDefinition> container;  ///< container of the request; null: none
  std::string session_token;                             ///< `range:-1#sequence`
  std::uint64_t sequence = 0;                            ///< of the write, or the newest that a read has seen; 0: none
  std::uint64_t item_sequence = 0;                       ///< of the newest write of the item that is read; 0: none
};

/// Whether the header is present and is `true`, `True` or `TRUE`.
bool has_flag(const Request& request, std::string_view header);

/// Whether a POST is a query. Most clients say so by `x-ms-documentdb-isquery`, the one for Go by
/// `x-ms-documentdb-query`, and all by the content type.
bool is_query(const Request& request);

/// One request to the Cosmos DB API.
struct Call {
  Request& request;
  Services& services;
  ResourcePath path;
  Credential credential;
  Accounting account;
  std::string activity_id;
  std::string body_text = {};  ///< of a body in binary JSON, which `request.body` then refers to
  bool reads = true;           ///< it changes nothing
  /// Of the item, if the header names the one that the container had before a change-over (feeds/former_keys.h).
  std::optional<partitioning::TypedKey> present_key = std::nullopt;
  std::optional<Gate::Pass> pass = std::nullopt;  ///< into the container, if it changes something

  /// Charges the request to these physical partitions. Errors: throttled when their throughput is used up.
  Expected<void> admit(const std::shared_ptr<partitioning::Database>& database, std::vector<std::size_t> partition_ids,
                       std::string_view partition_key = {});
  Expected<void> admit(const std::shared_ptr<partitioning::Database>& database, std::size_t partition_id,
                       std::string_view partition_key = {});
  Expected<void> admit(const std::shared_ptr<partitioning::Database>& database,
                       const partitioning::DocumentTarget& target);

  bool flag(std::string_view header) const;  ///< has_flag of the request
};

using Handled = Task<Expected<Reply>>;

/// `Prefer: return=minimal`.
bool wants_no_body(const Call& call);

/// Which links the reply to a write shows: none with `x-ms-exclude-system-properties`.
ItemLinks links_of_written(const Call& call);

/// 405.
std::unexpected<Error> method_not_allowed();

/// `If-Match` for a resource other than an item: the required `_etag` without quotes; nullopt: no condition.
std::optional<std::string> etag_of(const Request& request);

/// A reply with the JSON and ETag of a resource.
Reply resource_reply(int status, std::string json, std::string_view etag);

/// The body as a JSON object, for resources other than items. Errors: bad_request, too_large.
Expected<boost::json::object> json_body(const Request& request);

/// The engine's database of the path's container, opened if necessary, and its definition. Errors: owner_missing.
struct OpenContainer {
  std::shared_ptr<partitioning::Database> database;
  std::shared_ptr<const ContainerDefinition> definition;
  std::shared_ptr<const FormerKey> former = nullptr;  ///< null: none

  /// What the query layer keeps for the database: indexes, functions (query/database/database_services.h). Null if the
  /// engine was opened without it.
  query::DatabaseServices* services() const;
};
Task<Expected<OpenContainer>> open_container(Call& call);

}  // namespace octavo::api::cosmos

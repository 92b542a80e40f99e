#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json.hpp>

#include "api/cosmos/resource_path.h"
#include "api/http/reply.h"
#include "api/http/request.h"
#include "partitioning/engine.h"

namespace octavo::api::cosmos {

class Authorization;
enum class Credential : std::uint8_t;
class Schema;
struct ContainerDefinition;

/// What every handler may use. Lives as long as the server.
struct Services {
  partitioning::Engine& engine;
  const config::Settings& settings;
  const Authorization& authorization;
  Schema& schema;
};

/// What the headers of a reply tell of the request, beside the reply itself: the handlers fill in what they know.
struct Accounting {
  double request_charge = 1.0;
  std::shared_ptr<partitioning::Database> database;      ///< whose throughput pays for it; null: none
  std::size_t place = 0;                                 ///< the physical partition that pays, or the first that does
  std::vector<std::size_t> places;                       ///< all that pay, where they are several
  std::string partition_key;                             ///< empty: several, or none
  std::shared_ptr<const ContainerDefinition> container;  ///< in which it happened; null: in none
  std::string session_token;                             ///< `range:-1#sequence`
  std::uint64_t sequence = 0;                            ///< of the write, or what a read has seen; 0: none
};

/// Whether the header is there and says true, in whatever case.
bool has_flag(const Request& request, std::string_view header);

/// One request on its way through the Cosmos door.
struct Call {
  Request& request;
  Services& services;
  ResourcePath path;
  Credential credential;
  Accounting account;
  std::string activity_id;

  /// The request happens in these physical partitions, which pay for it. Error throttled: they cannot.
  Expected<void> admit(const std::shared_ptr<partitioning::Database>& database, std::vector<std::size_t> places,
                       std::string_view partition_key = {});
  Expected<void> admit(const std::shared_ptr<partitioning::Database>& database, std::size_t place,
                       std::string_view partition_key = {});
  Expected<void> admit_document(const std::shared_ptr<partitioning::Database>& database, std::string_view document_id);

  bool flag(std::string_view header) const;  ///< has_flag of the request
};

using Handled = Task<Expected<Reply>>;

// One family of handlers each; a method that the resource does not have is answered 405.
Handled serve_account(Call& call);     // account.cpp: GET /
Handled serve_databases(Call& call);   // databases.cpp: /dbs, /dbs/{db}
Handled serve_containers(Call& call);  // containers.cpp: /dbs/{db}/colls, …/{coll}
Handled serve_items(Call& call);       // items.cpp: …/docs, …/docs/{id}
Handled serve_ranges(Call& call);      // ranges.cpp: …/pkranges
Handled serve_offers(Call& call);      // offers.cpp: /offers, /offers/{id}
Handled serve_users(Call& call);       // users.cpp: /dbs/{db}/users/…/permissions/…
Handled serve_operations(Call& call);  // operations.cpp: …/operations/partitionkeydelete
Handled serve_batch(Call& call);       // batch.cpp: POST …/docs with x-ms-cosmos-is-batch-request
Handled serve_item_list(Call& call);   // item_list.cpp: GET …/docs, change feed included
Handled serve_query(Call& call);       // query.cpp: POST …/docs with x-ms-documentdb-isquery, and query plans

Handled serve_scripts(Call& call);      // scripts.cpp: …/sprocs, …/triggers, …/udfs
Handled execute_procedure(Call& call);  // stored_procedure.cpp: POST …/sprocs/{id}

/// `Prefer: return=minimal`.
bool wants_no_body(const Call& call);

/// 405.
std::unexpected<Error> method_not_allowed();

/// `If-Match` of a resource other than an item: what its `_etag` must be, without the quotes; nullopt: anything.
std::optional<std::string> etag_of(const Request& request);

/// A reply with a resource: its JSON, its ETag.
Reply resource_reply(int status, std::string json, std::string_view etag);

/// The body of a request about anything but items as a JSON object. Errors: bad_request, too_large.
Expected<boost::json::object> json_body(const Request& request);

/// The engine's database of the path's container, opened if need be, and its definition. Errors: owner_missing.
struct OpenContainer {
  std::shared_ptr<partitioning::Database> database;
  std::shared_ptr<const ContainerDefinition> definition;
};
Task<Expected<OpenContainer>> open_container(Call& call);

}  // namespace octavo::api::cosmos

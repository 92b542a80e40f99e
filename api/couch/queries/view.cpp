#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/couch/auth/users_database.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/partition_parameter.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/queries/routes.h"
#include "api/couch/queries/view_query.h"
#include "api/couch/queries/view_reply.h"
#include "api/http/metrics.h"
#include "base/json_writer.h"
#include "partitioning/engine.h"
#include "query/collation/collation.h"
#include "query/database/database_services.h"
#include "query/database/index_allowance.h"
#include "query/index/index_definition.h"
#include "query/json/parsed_document.h"
#include "query/view/view_group.h"

/// Queries of views: `_view` and `_view/queries` of a database and of a partition; `_info`; `_view_cleanup`.
namespace octavo::api::couch {

namespace {

using query::views::ViewGroup;
using Clock = std::chrono::steady_clock;

// A client that waits longer for an index to be built has probably disconnected; CouchDB waits without limit.
constexpr std::chrono::hours index_patience{1};
// The design document may change while a query waits for its index; then the query starts again.
constexpr int view_attempts = 5;
constexpr std::size_t view_queries_max = 1000;

std::unexpected<Error> missing_view() {
  return fail(ErrorCode::not_found, "missing_named_view");
}

/// Error if the design document does not exist: this distinguishes it from one without views.
Expected<void> check_design_document_exists(const partitioning::Database& database, std::string_view id) {
  OCTAVO_TRY(const auto snapshot, database.snapshot_for_document(id));
  OCTAVO_TRY(const auto document, snapshot.find_record(id));
  if (!document) return fail(ErrorCode::not_found, "missing");
  if (document->deleted) return fail(ErrorCode::deleted, "deleted");
  return {};
}

/// Error if the views of the design document are in a language that is neither JavaScript nor Mango's.
Expected<void> check_view_language(const partitioning::Database& database, std::string_view id) {
  OCTAVO_TRY(const auto snapshot, database.snapshot_for_document(id));
  OCTAVO_TRY(const auto document, snapshot.find(id));
  if (!document) return {};
  OCTAVO_TRY(const auto body, query::parse_json(document->body));
  const auto* language = body.is_object() ? body.get_object().if_contains("language") : nullptr;
  if (language == nullptr || *language == "javascript" || *language == "query") return {};
  return fail(ErrorCode::bad_request, std::string(id) + " has functions of another language than JavaScript.",
              "unknown_query_language");
}

Expected<query::FeedIndexView> find_group(const Call& call) {
  OCTAVO_TRY(auto* const services, query::required(call.database_services()));
  OCTAVO_TRY(const auto catalog, services->feed_indexes().catalog());
  const std::string id = "_design/" + call.path("ddoc");
  const auto* found = catalog->find("view", id, {});
  if (!found) {
    OCTAVO_TRY_VOID(check_design_document_exists(*call.database, id));
    OCTAVO_TRY_VOID(check_view_language(*call.database, id));
    if (catalog->over_limit) return fail(ErrorCode::not_found, std::string(query::index_beyond_limit_reason));
    return missing_view();
  }
  if (!found->index) return std::unexpected(*found->failure);
  return *found;
}

/// The queries of one request, which use the same index.
struct ViewRequest {
  std::vector<ViewQuery> queries;

  bool waits() const {
    return std::ranges::any_of(queries, [](const auto& one) { return one.update == ViewQuery::Update::yes; });
  }
  bool wants_update() const {
    return std::ranges::any_of(queries, [](const auto& one) { return one.update == ViewQuery::Update::lazy; });
  }
};

Expected<ViewTarget> target_in(const Call& call, const std::shared_ptr<query::FeedIndex>& index, ViewRequest& request) {
  auto group = std::dynamic_pointer_cast<ViewGroup>(index);
  if (!group) return missing_view();
  const auto view = group->definition().find(call.path("view"));
  if (!view) return missing_view();
  const auto& definition = group->definition();
  for (auto& one : request.queries) {
    OCTAVO_TRY_VOID(check_view_query(one, definition.views[*view].reduce.has_value(), definition.partitioned));
  }
  return ViewTarget{call.database, std::move(group), *view};
}

/// The index that answers the queries, after any wait or update that they require.
Task<Expected<ViewTarget>> find_target(const Call& call, ViewRequest& request) {
  for (int attempt = 0;; ++attempt) {
    OCTAVO_CO_TRY(const auto found, find_group(call));
    const ViewRequest as_asked = request;
    auto target = target_in(call, found.index, request);
    if (!target) co_return target;
    auto& services = *call.database_services();
    auto& indexes = services.feed_indexes();
    if (!request.waits()) {
      if (request.wants_update()) indexes.update(*found.index);
      if (!found.previous) co_return target;
      const auto built = indexes.is_current(*found.index, call.database->committed_sequence());
      if (built && *built) co_return target;
      // Until the new index is built, the index of the previous design document answers if it has this view.
      ViewRequest before = as_asked;
      auto previous = target_in(call, found.previous, before);
      if (!previous) co_return target;
      request = std::move(before);
      co_return previous;
    }
    if (call.database->has_time_to_live()) {
      OCTAVO_CO_TRY_VOID(co_await services.wait_for_expirations(Clock::now() + index_patience));
    }
    OCTAVO_CO_TRY(const auto sequence, call.database->visible_sequence());
    auto current = co_await indexes.wait_until_current(found.index, sequence, Clock::now() + index_patience);
    if (current) co_return target;
    const bool replaced = current.error().code == ErrorCode::not_found && !call.database->deleted();
    if (!replaced) co_return std::unexpected(current.error());
    if (attempt == view_attempts) {
      co_return fail(ErrorCode::overloaded, "The design document changes too often; try again.");
    }
    request = as_asked;
  }
}

Expected<void> check_view_access(const Call& call, bool partition) {
  if (partition) OCTAVO_TRY_VOID(check_partition_parameter(call));
  if (is_system_database(*call.database)) return check_system_listing(call, "_view");
  return {};
}

Expected<bool> is_mango_index(const partitioning::Database& database, std::string_view id, std::string_view name) {
  OCTAVO_TRY(const auto snapshot, database.snapshot_for_document(id));
  OCTAVO_TRY(const auto document, snapshot.find(id));
  if (!document || document->deleted) return false;
  OCTAVO_TRY(const auto indexes, query::definitions_from_design_document(id, document->body, database.partitioned()));
  return std::ranges::any_of(indexes, [&](const auto& index) { return index->name == name; });
}

/// Reads changed design documents and opens their indexes. A Mango index gets the rows of a view when a query asks for
/// them the first time.
Expected<void> load_index(const Call& call, query::FeedIndexes& indexes) {
  OCTAVO_TRY(const auto catalog, indexes.catalog());
  const std::string id = "_design/" + call.path("ddoc");
  if (catalog->find("view", id, {})) return {};
  OCTAVO_TRY(const bool is_index, is_mango_index(*call.database, id, call.path("view")));
  return is_index ? indexes.demand(id) : Expected<void>{};
}

// On a worker, unless there is nothing to do.
Task<void> load_index_if_needed(const Call& call) {
  auto* services = call.database_services();
  if (services == nullptr) co_return;
  auto& indexes = services->feed_indexes();
  if (indexes.is_loaded()) {
    const auto catalog = indexes.last_catalog();
    if (catalog && catalog->find("view", "_design/" + call.path("ddoc"), {})) co_return;
  }
  // Ignore errors here: requests that need an index that cannot be loaded report them.
  co_await call.services.engine.workers().run_blocking([&] { return load_index(call, indexes); });
}

Task<Expected<Reply>> answer(Call& call, ViewRequest request, bool several) {
  co_await load_index_if_needed(call);
  OCTAVO_CO_TRY(const auto target, co_await find_target(call, request));
  std::optional<std::string> partition_key;
  if (!request.queries.empty()) partition_key = request.queries.front().partition;
  std::vector<std::unique_ptr<SliceProducer>> answers;
  for (auto& one : request.queries) {
    OCTAVO_CO_TRY(auto made, make_view_reply(target, std::move(one)));
    answers.push_back(std::move(made));
  }
  auto reply = several ? several_view_replies(std::move(answers)) : single_view_reply(std::move(answers.front()));
  co_return co_await sliced_reply(call, std::move(reply), call.scope_of(partition_key));
}

ViewQuery base_query(const Call& call, bool partition) {
  ViewQuery base;
  if (partition) base.partition = call.path("partition");
  return base;
}

// The body may also name the partition, which must be that of the path.
Expected<void> check_same_partition(const std::optional<std::string>& of_path, const ViewQuery& query) {
  if (!of_path || query.partition == of_path) return {};
  return fail(ErrorCode::bad_request, "Conflicting value for `partition`.", "query_parse_error");
}

template <bool partition>
Task<Expected<Reply>> query_view(Call& call) {
  OCTAVO_CO_TRY_VOID(check_view_access(call, partition));
  call.services.metrics.activity().add(Activity::view_read);
  auto base = base_query(call, partition);
  if (call.request.method == Method::post) {
    OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
    OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
    if (body.contains("queries")) {
      co_return fail(ErrorCode::bad_request, "The `queries` parameter is no longer supported at this endpoint");
    }
    OCTAVO_CO_TRY(auto read, parse_view_query(body, std::move(base)));
    OCTAVO_CO_TRY_VOID(check_same_partition(base_query(call, partition).partition, read));
    base = std::move(read);
  }
  OCTAVO_CO_TRY(auto parsed, parse_view_query(call.request, std::move(base)));
  ViewRequest request;
  request.queries.push_back(std::move(parsed));
  co_return co_await answer(call, std::move(request), false);
}

Expected<ViewRequest> parse_queries(const Call& call, const boost::json::object& body, const ViewQuery& base) {
  const auto* list = body.if_contains("queries");
  if (!list) return fail(ErrorCode::bad_request, "POST body must include `queries` parameter.");
  if (!list->is_array()) return fail(ErrorCode::bad_request, "`queries` parameter must be an array.");
  if (list->get_array().size() > view_queries_max) return fail(ErrorCode::too_large, "Too many `queries`.");
  ViewRequest request;
  for (const auto& entry : list->get_array()) {
    if (!entry.is_object()) return fail(ErrorCode::bad_request, "`queries` must be JSON objects.");
    OCTAVO_TRY(auto one, parse_view_query(call.request, base));
    OCTAVO_TRY(one, parse_view_query(entry.get_object(), std::move(one)));
    OCTAVO_TRY_VOID(check_same_partition(base.partition, one));
    request.queries.push_back(std::move(one));
  }
  return request;
}

template <bool partition>
Task<Expected<Reply>> query_view_several_times(Call& call) {
  OCTAVO_CO_TRY_VOID(check_view_access(call, partition));
  call.services.metrics.activity().add(Activity::view_read);
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(auto request, parse_queries(call, body, base_query(call, partition)));
  co_return co_await answer(call, std::move(request), true);
}

void append_counter(std::string& out, std::string_view name, std::uint64_t value) {
  append_json_key(out, name);
  append_json_number(out, value);
}

Expected<Reply> view_information(const Call& call) {
  const std::string id = "_design/" + call.path("ddoc");
  OCTAVO_TRY_VOID(check_design_document_exists(*call.database, id));
  OCTAVO_TRY(auto* const services, query::required(call.database_services()));
  auto& indexes = services->feed_indexes();
  OCTAVO_TRY(const auto catalog, indexes.catalog());
  const auto* found = catalog->find("view", id, {});
  const auto group = found ? std::dynamic_pointer_cast<ViewGroup>(found->index) : nullptr;
  storage::Store::Sizes sizes;
  std::uint64_t external = 0;
  query::FeedIndexes::Activity activity;
  storage::Sequence checkpoint = 0;
  std::uint64_t pending = 0;
  if (group) {
    OCTAVO_TRY(sizes, group->sizes());
    OCTAVO_TRY(const auto density, group->store()->density());
    external = density.row_bytes.front();  // of the rows; other trees contain their keys again
    activity = indexes.activity(*group);
    checkpoint = group->checkpoint();
    const auto newest = call.database->committed_sequence();
    pending = newest - std::min(newest, std::max(checkpoint, call.database->sequence_base()));
  }
  Reply reply;
  std::string& out = reply.body;
  out = "{";
  append_json_key(out, "name");
  append_json_string(out, call.path("ddoc"));
  append_json_key(out, "view_index");
  out += "{\"updates_pending\":{";
  append_counter(out, "minimum", pending);
  append_counter(out, "preferred", pending);
  append_counter(out, "total", pending);
  out += "},\"waiting_commit\":false";
  append_counter(out, "waiting_clients", static_cast<std::uint64_t>(activity.waiting));
  append_json_key(out, "updater_running");
  append_json_bool(out, activity.updating);
  append_counter(out, "update_seq", checkpoint);
  out += ",\"sizes\":{";
  append_counter(out, "file", sizes.file_bytes);
  append_counter(out, "external", external);
  append_counter(out, "active", sizes.used_bytes);
  out += '}';
  append_json_key(out, "signature");
  append_json_string(out, found ? std::string_view(found->definition.identity) : std::string_view());
  append_counter(out, "purge_seq", group ? group->purge_count() : 0);
  append_json_key(out, "language");
  append_json_string(out, group && group->definition().of_indexes ? "query" : "javascript");
  append_json_key(out, "compact_running");
  append_json_bool(out, call.database->is_compacting(id));
  out += ",\"collator_versions\":[";
  append_json_string(out, query::collation_version());
  out += "]}}\n";
  return reply;
}

Task<Expected<Reply>> get_view_information(Call& call) {
  co_return co_await call.services.engine.workers().run_blocking([&] { return view_information(call); });
}

Task<Expected<Reply>> clean_up_views(Call& call) {
  if (auto* services = call.database_services()) {
    OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking([&] { return services->clean_up(); }));
  }
  Reply reply;
  reply.status = 202;
  reply.body = "{\"ok\":true}\n";
  co_return reply;
}

}  // namespace

void add_view_routes(RouteList& routes) {
  constexpr auto reader_access = Access::database_member;
  const auto add = [&](std::string_view view, std::string_view queries, CouchHandler one, CouchHandler several) {
    routes.push_back({Method::get, view, reader_access, one});
    routes.push_back({Method::post, view, reader_access, one});
    routes.push_back({Method::post, queries, reader_access, several});
  };
  add("/{db}/_design/{ddoc}/_view/{view}", "/{db}/_design/{ddoc}/_view/{view}/queries", query_view<false>,
      query_view_several_times<false>);
  add("/{db}/_partition/{partition}/_design/{ddoc}/_view/{view}",
      "/{db}/_partition/{partition}/_design/{ddoc}/_view/{view}/queries", query_view<true>,
      query_view_several_times<true>);
  routes.push_back({Method::get, "/{db}/_design/{ddoc}/_info", reader_access, get_view_information});
  routes.push_back({Method::post, "/{db}/_view_cleanup", Access::database_admin, clean_up_views});
}

}  // namespace octavo::api::couch

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <simdjson.h>

#include "api/couch/auth/users_database.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/call/partition_parameter.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/queries/routes.h"
#include "api/couch/queries/search_parameters.h"
#include "api/models/document_renderer.h"
#include "base/json_writer.h"
#include "partitioning/throughput/request_charge.h"
#include "query/database/database_services.h"
#include "query/database/index_allowance.h"
#include "query/design/design_document.h"
#include "query/json/parsed_document.h"
#include "query/search/documents/json_number.h"
#include "query/search/search_index.h"
#include "query/search/search_kind.h"

/// `_search`, `_search_info`, `_search_disk_size`, `_search_cleanup` and `/_search_analyze`.
namespace octavo::api::couch {

namespace {

namespace json = boost::json;
namespace search = query::search;

constexpr std::chrono::seconds index_wait_max{60};
constexpr std::chrono::seconds search_time_max{5};
constexpr std::size_t analyzed_bytes_max = 1024 * 1024;  // limit of a text to be analyzed
// The design document may change while a search waits for its index; then the search starts again.
constexpr int search_attempts = 5;

/// The index that a request names, and its options in the design document.
struct FoundIndex {
  std::shared_ptr<search::SearchIndex> index;
  bool of_partitions = false;
};

// The reason why there is no such index: no design document, no index in it, or an index that cannot be created.
Error missing_index(const partitioning::Database& database, const std::string& design_id, const std::string& name,
                    bool over_limit) {
  const auto look = [&]() -> Expected<void> {
    OCTAVO_TRY(const auto snapshot, database.snapshot_for_document(design_id));
    OCTAVO_TRY(const auto document, snapshot.find(design_id));
    if (!document) return fail(ErrorCode::not_found, "missing");
    if (document->deleted) return fail(ErrorCode::deleted, "deleted");
    OCTAVO_TRY(const auto design,
               query::read_design_document(design_id, document->revision.to_string(), document->body));
    const auto* source = design ? design->index(name) : nullptr;
    if (source == nullptr) return fail(ErrorCode::not_found, name + " not found.");
    if (!source->analyzer.empty()) {
      OCTAVO_TRY(const auto analyzer, query::parse_json(source->analyzer));
      OCTAVO_TRY(const auto unused, search::make_analyzers(analyzer));
    }
    if (over_limit) return fail(ErrorCode::not_found, std::string(query::index_beyond_limit_reason));
    return fail(ErrorCode::overloaded, "The index is being made; try again later.");
  };
  return look().error();
}

// May read design documents and open files, so it runs on a worker.
Expected<FoundIndex> find_index(const partitioning::Database& database, query::FeedIndexes& indexes,
                                const std::string& design, const std::string& name) {
  OCTAVO_TRY(const auto catalog, indexes.catalog());
  const std::string design_id = "_design/" + design;
  const auto* view = catalog->find(search::search_kind_name, design_id, name);
  if (view == nullptr) return std::unexpected(missing_index(database, design_id, name, catalog->over_limit));
  if (view->failure && !view->index) return std::unexpected(*view->failure);
  auto index = std::dynamic_pointer_cast<search::SearchIndex>(view->index);
  if (!index) return fail(ErrorCode::internal, "");
  return FoundIndex{std::move(index), search::is_of_partitions(view->definition)};
}

Expected<void> check_scope(const FoundIndex& found, const SearchParameters& parameters, bool database_is_partitioned) {
  constexpr std::string_view unsupported = "`partition` not supported on this index";
  const bool given = parameters.partition.has_value();
  if (given && (!database_is_partitioned || !found.of_partitions)) {
    return fail(ErrorCode::bad_request, std::string(unsupported));
  }
  if (!given && found.of_partitions) {
    return fail(ErrorCode::bad_request, "`partition` parameter is mandatory for queries to this index.");
  }
  if (given && parameters.uses_facets_or_groups) {
    return fail(
        ErrorCode::bad_request,
        "`partition` and any of `drilldown`, `ranges`, `group_field`, `group_sort`, `group_limit` or `group_by` "
        "are incompatible");
  }
  return {};
}

void append_order(std::string& out, const std::vector<search::OrderValue>& order) {
  out += '[';
  for (const auto& value : order) {
    if (out.back() != '[') out += ',';
    if (const auto* number = std::get_if<double>(&value)) {
      search::append_json_double(out, *number);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      append_json_string(out, *text);
    } else {
      out += "null";
    }
  }
  out += ']';
}

Expected<void> append_hits(std::string& out, const partitioning::Database& database,
                           const std::vector<search::SearchHit>& hits, bool include_docs) {
  out += '[';
  bool first = true;
  for (const auto& hit : hits) {
    out += first ? "" : ",\n";
    first = false;
    out += "{\"id\":";
    append_json_string(out, hit.id);
    out += ",\"order\":";
    append_order(out, hit.order);
    out += ",\"fields\":";
    out += hit.fields;
    if (!hit.highlights.empty()) {
      out += ",\"highlights\":";
      out += hit.highlights;
    }
    if (include_docs) {
      out += ",\"doc\":";
      OCTAVO_TRY(const auto snapshot, database.snapshot_for_document(hit.id));
      OCTAVO_TRY(const auto document, snapshot.find(hit.id));
      // The document was deleted after it was indexed.
      if (!document || document->deleted) {
        out += "null";
      } else {
        append_document(out, *document);
      }
    }
    out += '}';
  }
  out += ']';
  return {};
}

void append_facets(std::string& out, std::string_view name,
                   const std::vector<std::pair<std::string, search::FacetCounts>>& facets) {
  if (facets.empty()) return;
  append_json_key(out, name);
  out += '{';
  for (const auto& [field, counts] : facets) {
    append_json_key(out, field);
    out += '{';
    for (const auto& [value, count] : counts) {
      append_json_key(out, value);
      append_json_number(out, count);
    }
    out += '}';
  }
  out += '}';
}

Expected<std::string> search_reply(const partitioning::Database& database, const SearchParameters& parameters,
                                   const search::SearchResult& result) {
  std::string out = "{";
  if (!parameters.request.grouping) {
    out += "\"total_rows\":";
    append_json_number(out, result.total_rows);
    out += ",\"bookmark\":";
    append_json_string(out, result.bookmark.encode());
    out += ",\"rows\":";
    OCTAVO_TRY_VOID(append_hits(out, database, result.hits, parameters.include_docs));
    append_facets(out, "counts", result.counts);
    append_facets(out, "ranges", result.ranges);
  } else {
    const bool old = parameters.is_old_grouping;
    out += old ? "\"total_hits\":" : "\"total_rows\":";
    append_json_number(out, result.total_rows);
    if (old) {
      out += ",\"total_grouped_hits\":";
      append_json_number(out, result.total_grouped_rows);
    }
    out += ",\"groups\":[";
    bool first = true;
    for (const auto& group : result.groups) {
      out += first ? "" : ",\n";
      first = false;
      out += "{\"by\":";
      if (group.by) {
        append_json_string(out, *group.by);
      } else {
        out += "null";
      }
      out += old ? ",\"total_hits\":" : ",\"total_rows\":";
      append_json_number(out, group.total_rows);
      out += old ? ",\"hits\":" : ",\"rows\":";
      OCTAVO_TRY_VOID(append_hits(out, database, group.hits, parameters.include_docs));
      out += '}';
    }
    out += ']';
  }
  out += "}\n";
  return out;
}

Expected<std::string> run_search(partitioning::Database& database, query::FeedIndexes& indexes,
                                 search::SearchIndex& index, SearchParameters& parameters, storage::Sequence at_least) {
  parameters.request.partition = parameters.partition;
  parameters.request.at_least = parameters.stale_ok ? 0 : at_least;
  parameters.request.deadline = std::chrono::steady_clock::now() + search_time_max;
  auto result = index.search(parameters.request);
  if (!result) {
    if (result.error().code == ErrorCode::corrupted) indexes.update(index);
    return std::unexpected(std::move(result).error());
  }
  return search_reply(database, parameters, *result);
}

Task<Expected<Reply>> search_index(Call& call, std::optional<std::string> partition) {
  auto& database = *call.database;
  auto& engine = call.services.engine;
  if (is_system_database(database)) OCTAVO_CO_TRY_VOID(check_system_listing(call, "_search"));
  if (call.request.method == Method::post) OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  const auto scope = call.scope_of(partition);
  OCTAVO_CO_TRY_VOID(database.meter().admit_scan(scope));
  OCTAVO_CO_TRY(auto* const services, query::required(call.database_services()));
  auto& indexes = services->feed_indexes();
  if (database.has_time_to_live()) {
    const auto deadline = std::chrono::steady_clock::now() + index_wait_max;
    OCTAVO_CO_TRY_VOID(co_await services->wait_for_expirations(deadline));
  }
  OCTAVO_CO_TRY(const storage::Sequence sequence, database.visible_sequence());
  SearchParameters parameters;
  FoundIndex found;
  // Does the whole search in one task on a worker; nullopt if the index is not current yet.
  const auto search_now = [&]() -> Expected<std::optional<std::string>> {
    OCTAVO_TRY(found, find_index(database, indexes, call.path("ddoc"), call.path("index")));
    OCTAVO_TRY(parameters, read_search_parameters(call.request, database.partitioned()));
    if (partition) {
      if (parameters.partition && *parameters.partition != *partition) {
        return fail(ErrorCode::bad_request, "Multiple conflicting values for `partition` provided");
      }
      parameters.partition = partition;
    } else if (parameters.partition) {
      OCTAVO_TRY_VOID(partitioning::check_partition_key(*parameters.partition));
    }
    OCTAVO_TRY_VOID(check_scope(found, parameters, database.partitioned()));
    if (!parameters.stale_ok) {
      OCTAVO_TRY(const bool current, indexes.is_current(*found.index, sequence));
      if (!current) return std::nullopt;
    } else {
      indexes.update(*found.index);
    }
    OCTAVO_TRY(auto body, run_search(database, indexes, *found.index, parameters, sequence));
    return body;
  };
  for (int attempt = 1; attempt <= search_attempts; ++attempt) {
    // After an error an index returns to its last commit. If that has just happened, it must catch up again.
    const auto went_back = [&](const Error& error) {
      return attempt < search_attempts && error.code == ErrorCode::index_went_back;
    };
    auto first = co_await engine.workers().run_long(search_now);
    if (!first && went_back(first.error())) continue;
    if (!first) co_return std::unexpected(std::move(first).error());
    Reply reply;
    if (*first) {
      reply.body = **std::move(first);
      call.charge_scan(scope, partitioning::charge_of_scan({.result_bytes = reply.body.size()}));
      co_return reply;
    }
    auto waited =
        co_await indexes.wait_until_current(found.index, sequence, std::chrono::steady_clock::now() + index_wait_max);
    if (!waited) {
      const bool replaced = waited.error().code == ErrorCode::not_found && !database.deleted();
      if (replaced) continue;
      co_return std::unexpected(std::move(waited).error());
    }
    auto body = co_await engine.workers().run_long(
        [&] { return run_search(database, indexes, *found.index, parameters, sequence); });
    if (!body && went_back(body.error())) continue;
    if (!body) co_return std::unexpected(std::move(body).error());
    reply.body = *std::move(body);
    call.charge_scan(scope, partitioning::charge_of_scan({.result_bytes = reply.body.size()}));
    co_return reply;
  }
  co_return fail(ErrorCode::overloaded, "The design document changes too often; try again.");
}

Task<Expected<Reply>> search_database(Call& call) {
  co_return co_await search_index(call, std::nullopt);
}

Task<Expected<Reply>> search_partition(Call& call) {
  OCTAVO_CO_TRY_VOID(check_partition_parameter(call));
  co_return co_await search_index(call, call.path("partition"));
}

Task<Expected<Reply>> index_info(Call& call, bool size_only) {
  auto& database = *call.database;
  if (is_system_database(database)) OCTAVO_CO_TRY_VOID(check_system_listing(call, "_search_info"));
  OCTAVO_CO_TRY(auto* const services, query::required(call.database_services()));
  co_return co_await call.services.engine.workers().run_blocking([&]() -> Expected<Reply> {
    OCTAVO_TRY(const auto found, find_index(database, services->feed_indexes(), call.path("ddoc"), call.path("index")));
    OCTAVO_TRY(const auto info, found.index->info());
    json::object shown{{"disk_size", info.bytes_on_disk}};
    if (!size_only) {
      shown["pending_seq"] = info.pending_sequence;
      shown["committed_seq"] = info.committed_sequence;
      shown["purge_seq"] = info.purge_count;
      shown["doc_count"] = info.documents;
      shown["doc_del_count"] = info.deleted_documents;
      shown["signature"] = found.index->identity();
    }
    return json_reply(json::object{{"name", fmt::format("_design/{}/{}", call.path("ddoc"), call.path("index"))},
                                   {"search_index", std::move(shown)}});
  });
}

Task<Expected<Reply>> search_info(Call& call) {
  co_return co_await index_info(call, false);
}

Task<Expected<Reply>> search_disk_size(Call& call) {
  co_return co_await index_info(call, true);
}

Task<Expected<Reply>> search_cleanup(Call& call) {
  OCTAVO_CO_TRY(auto* const services, query::required(call.database_services()));
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking([&] { return services->clean_up(); }));
  Reply reply = json_reply(json::object{{"ok", true}});
  reply.status = 202;
  co_return reply;
}

Expected<Reply> analyzed(const json::value& analyzer, std::string_view text) {
  OCTAVO_TRY(const auto analyzers, search::make_analyzers(analyzer));
  search::TokenList tokens;
  analyzers->of("default").analyze(text, tokens);
  Reply reply;
  reply.body = "{\"tokens\":[";
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) reply.body += ',';
    append_json_string(reply.body, tokens.term(i));
  }
  reply.body += "]}\n";
  return reply;
}

struct AnalyzedText {
  json::value analyzer;
  std::string text;
};

Expected<AnalyzedText> parse_analyzed_text(const Request& request) {
  AnalyzedText parsed;
  if (request.method == Method::post) {
    OCTAVO_TRY(const auto body, json_object_body(request));
    const auto* given = body.if_contains("analyzer");
    if (given == nullptr) return fail(ErrorCode::bad_request, "analyzer parameter is mandatory");
    if (!given->is_string() && (!given->is_object() || given->get_object().empty())) {
      return fail(ErrorCode::bad_request, "analyzer parameter must be a string or an object");
    }
    parsed.analyzer = *given;
    const auto* words = body.if_contains("text");
    if (words == nullptr) return fail(ErrorCode::bad_request, "text parameter is mandatory");
    if (!words->is_string()) return fail(ErrorCode::bad_request, "text parameter must be a string");
    parsed.text = words->get_string();
  } else {
    const auto given = request.parameter("analyzer");
    if (!given) return fail(ErrorCode::bad_request, "analyzer parameter is mandatory");
    const auto words = request.parameter("text");
    if (!words) return fail(ErrorCode::bad_request, "text parameter is mandatory");
    parsed.analyzer = json::string(*given);
    parsed.text = *words;
    if (!simdjson::validate_utf8(parsed.text.data(), parsed.text.size())) {
      return fail(ErrorCode::bad_request, "text parameter must be UTF-8");
    }
  }
  if (parsed.text.size() > analyzed_bytes_max) {
    return fail(ErrorCode::too_large, fmt::format("text must not be longer than {} bytes", analyzed_bytes_max));
  }
  return parsed;
}

Task<Expected<Reply>> search_analyze(Call& call) {
  if (call.request.method == Method::post) OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  co_return co_await call.services.engine.workers().run_patiently([&]() -> Expected<Reply> {
    OCTAVO_TRY(const auto parsed, parse_analyzed_text(call.request));
    return analyzed(parsed.analyzer, parsed.text);
  });
}

}  // namespace

void add_search_routes(RouteList& routes) {
  constexpr auto member = Access::database_member;
  for (const auto method : {Method::get, Method::post}) {
    routes.push_back({method, "/{db}/_design/{ddoc}/_search/{index}", member, search_database});
    routes.push_back({method, "/{db}/_partition/{partition}/_design/{ddoc}/_search/{index}", member, search_partition});
    routes.push_back({method, "/_search_analyze", Access::server_admin, search_analyze});
  }
  routes.push_back({Method::get, "/{db}/_design/{ddoc}/_search_info/{index}", member, search_info});
  routes.push_back({Method::get, "/{db}/_design/{ddoc}/_search_disk_size/{index}", member, search_disk_size});
  routes.push_back({Method::post, "/{db}/_search_cleanup", Access::database_admin, search_cleanup});
}

}  // namespace octavo::api::couch

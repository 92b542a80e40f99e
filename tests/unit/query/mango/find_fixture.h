#pragma once

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/json.hpp>

#include "query/database/create_index.h"
#include "query/database/database_services.h"
#include "query/database/index_check.h"
#include "query/json/parsed_document.h"
#include "query/mango/prepared_find.h"
#include "query/mango/run/find_execution.h"
#include "query/walk/index_reader.h"
#include "query/walk/plan_indexes.h"
#include "support/engine_fixture.h"
#include "support/patience.h"
#include "unit/query/definition_reader.h"

namespace octavo::tests {

namespace json = boost::json;

/// A database with indexes, queried as `_find` does it, in slices as small as a test likes.
class FindFixture {
 public:
  explicit FindFixture(partitioning::CreateDatabaseOptions options = {}, config::Settings settings = {})
      : engine(query::DatabaseServices::factory(&tasks, read_definition), std::move(settings)) {
    database = engine.create("db", options);
  }

  void restart() {
    database.reset();
    engine.stop();
    engine.start();
    database = engine.engine().find_database("db");
  }

  query::DatabaseServices& services() { return *query::services_of(*database); }
  query::MangoIndexes& indexes() { return services().indexes(); }

  void create_index(std::string_view request) {
    const auto parsed = query::parse_create_index(*query::parse_json(request));
    if (!parsed) throw std::runtime_error(parsed.error().reason);
    const auto body = query::add_index_to_design_document(*parsed, std::nullopt, database->partitioned());
    if (!body) throw std::runtime_error(body.error().reason);
    EngineFixture::put(*database, parsed->design_document, **body);
  }

  /// The reply to a query as JSON, with the names of CouchDB's replies; an error as {"error":word or code,"reason":…}.
  json::object find(std::string_view body, std::string partition = {}, std::size_t slice = 7) {
    auto prepared = run_task(query::prepare_find(indexes(), body, partition, false));
    if (!prepared) return error(prepared.error());
    auto current = run_task(query::wait_for_indexes(indexes(), *prepared));
    if (!current) return error(current.error());
    query::FindExecution execution(database, *prepared, partition, engine.settings().sort_bytes_max);
    std::string text = "[";
    while (true) {
      const auto state = execution.run({slice});
      if (!state) return error(state.error());
      text += execution.output();
      execution.output().clear();
      if (*state == partitioning::ScanState::done) break;
    }
    const query::FindRequest& request = execution.prepared().request;
    const query::WalkStatistics& read = execution.statistics();
    json::object reply{{"docs", json::parse(text + "]")},
                       {"bookmark", execution.next_bookmark().value_or(request.bookmark.value_or("nil"))},
                       {"execution_stats", json::object{{"total_keys_examined", read.keys_examined},
                                                        {"total_docs_examined", read.documents_examined},
                                                        {"results_returned", read.results_returned}}}};
    if (const auto count = execution.count()) reply["count"] = *count;
    std::string warnings;
    for (const std::string& warning : execution.prepared().plans[0].warnings) {
      warnings += (warnings.empty() ? "" : "\n") + warning;
    }
    if (!warnings.empty()) reply["warning"] = warnings;
    return reply;
  }

  /// Every page of a query, by bookmark; the documents' ids.
  std::vector<std::string> find_all_pages(json::object request, std::size_t page, std::string partition = {}) {
    std::vector<std::string> ids;
    request["limit"] = page;
    while (true) {
      const auto reply = find(json::serialize(request), partition);
      if (reply.contains("error")) throw std::runtime_error(json::serialize(reply));
      for (const auto& document : reply.at("docs").as_array()) ids.emplace_back(document.at("_id").as_string());
      if (reply.at("docs").as_array().size() < page) return ids;
      request["bookmark"] = reply.at("bookmark");
    }
  }

  static json::object error(const Error& error) {
    return {{"error", error.word.empty() ? "error" : error.word}, {"reason", error.reason}};
  }

  std::shared_ptr<const query::PreparedFind> explain(std::string_view body, std::string partition = {}) {
    auto prepared = run_task(query::prepare_find(indexes(), body, partition, true));
    if (!prepared) throw std::runtime_error(prepared.error().reason);
    return *prepared;
  }

  /// Waits until all indexes are built.
  void wait_for_indexes() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const auto catalog = indexes().catalog();
    for (const auto& view : (*catalog)->indexes) {
      for (std::size_t partition_id = 0; partition_id < database->physical_partition_count(); ++partition_id) {
        const auto ready = run_task(indexes().wait_until_ready(view.definition->identity, partition_id, deadline));
        if (!ready || !(*ready)->find(view.definition->identity)->ready(partition_id)) {
          throw std::runtime_error("not built");
        }
      }
    }
  }

  void wait_for_automatic_index() {
    const auto deadline = std::chrono::steady_clock::now() + patiently(std::chrono::seconds(20));
    while (indexes().automatic_progress_percent() < 100) {
      if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("the automatic index is not built");
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  /// What `octavo check` finds wrong with the indexes.
  std::vector<std::string> index_problems() {
    storage::CheckReport report;
    const auto checked = run_task(query::check_indexes(services(), report));
    if (!checked) return {checked.error().reason};
    return report.problems;
  }

  query::ActiveTasks tasks;
  EngineFixture engine;
  std::shared_ptr<partitioning::Database> database;
};

inline std::vector<std::string> ids_of(const json::object& reply) {
  std::vector<std::string> ids;
  if (!reply.contains("docs")) throw std::runtime_error(json::serialize(reply));
  for (const auto& document : reply.at("docs").as_array()) ids.emplace_back(document.at("_id").as_string());
  return ids;
}

}  // namespace octavo::tests

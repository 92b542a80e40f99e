#include "server/commands/check_command.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "api/models/database_properties.h"
#include "base/folder.h"
#include "partitioning/engine.h"
#include "query/database/database_services.h"
#include "query/database/index_check.h"
#include "query/follow/active_tasks.h"
#include "server/process/logging.h"
#include "storage/lmdb/store.h"
#include "storage/lmdb/store_check.h"
#include "storage/partition/partition_check.h"

namespace octavo::server {
namespace {

/// Runs one task to completion on this thread.
Expected<void> run(Task<Expected<void>> task) {
  boost::asio::io_context context(1);
  Expected<void> outcome;
  boost::asio::co_spawn(
      context.get_executor(), std::move(task), [&](const std::exception_ptr& thrown, Expected<void> result) {
        outcome = thrown ? fail(ErrorCode::internal, "The check ended unexpectedly.") : std::move(result);
      });
  context.run();
  return outcome;
}

/// Checks the files of a database themselves. The database is opened only if all are sound.
storage::CheckReport check_files(const std::filesystem::path& folder, const storage::DatabaseRecord& record) {
  storage::CheckReport report;
  std::error_code error;
  std::vector<std::filesystem::path> stores;
  for (const std::string& name : storage::folder_entries(folder, error)) {
    if (name.starts_with("search-")) continue;  // files of Lucene
    // Partitions of the map are added below; the next server removes those of an interrupted split.
    if (storage::partition_number(name)) continue;
    // A crash interrupted the creation or removal of this index: the next server completes either.
    const bool index = name.starts_with("index-") || name.starts_with("view-") || name.starts_with("projection-");
    if (index && (name.ends_with(".new") || !storage::Store::exists_in(folder / name))) continue;
    stores.push_back(folder / name);
  }
  for (const auto& range : record.partition_map) stores.push_back(folder / range.folder);
  std::ranges::sort(stores);
  if (error) report.add(fmt::format("its files are missing: {}", folder.string()));
  for (const auto& store : stores) {
    storage::check_store(store, store.filename().string() + ": ", report);
  }
  return report;
}

Expected<storage::CheckReport> check_rows(partitioning::Database& database) {
  storage::CheckReport total;
  for (const std::size_t partition_id : database.partition_ids()) {
    auto& partition = database.physical_partition(partition_id);
    const auto time_to_live = partition.time_to_live();
    // Expired documents are still stored, and must be sound.
    partition.set_time_to_live(nullptr);
    OCTAVO_TRY(const storage::CheckReport part,
               storage::check_partition(partition, database.partitioned(), time_to_live.get()));
    total.documents += part.documents;
    total.feed_rows += part.feed_rows;
    total.rows_of_format_1 += part.rows_of_format_1;
    for (const std::string& problem : part.problems) total.add(fmt::format("partition {}: {}", partition_id, problem));
    total.problem_count += part.problem_count - part.problems.size();
  }
  OCTAVO_TRY_VOID(run(query::check_indexes(*query::services_of(database), total)));
  return total;
}

Expected<storage::CheckReport> check_database(partitioning::Engine& engine, const std::string& name) {
  OCTAVO_TRY(const auto record, engine.catalog().find(name));
  if (!record) return fail(ErrorCode::corrupted, "the catalog has no record of it");
  auto files = check_files(engine.settings().data_dir / "databases" / record->instance_tag, *record);
  if (!files.sound()) return files;
  OCTAVO_TRY(const auto database, engine.open_database(name));
  return check_rows(*database);
}

void print_problems(std::string_view name, const storage::CheckReport& report) {
  for (const std::string& problem : report.problems) fmt::print("{}: {}\n", name, problem);
  if (report.problem_count > report.problems.size()) {
    fmt::print("{}: … and {} more\n", name, report.problem_count - report.problems.size());
  }
}

}  // namespace

int run_check(const config::Settings& settings, const std::string& database) {
  const auto start = std::chrono::steady_clock::now();
  // The report goes to standard output. What functions of views log or throw while their rows are compared is not part
  // of it.
  set_up_logging(settings);
  spdlog::set_level(std::max(spdlog::get_level(), spdlog::level::warn));
  // Checking must not create a data folder.
  std::error_code error;
  const bool exists = std::filesystem::exists(settings.data_dir / "catalog", error);
  if (error) {
    fmt::print(stderr, "octavo: cannot look into {}: {}\n", settings.data_dir.string(), error.message());
    return 1;
  }
  if (!exists) {
    fmt::print(stderr, "octavo: there is no data folder at {}; name it with --data-dir\n", settings.data_dir.string());
    return 1;
  }
  storage::CheckReport catalog;
  storage::check_store(settings.data_dir / "catalog", "", catalog);
  if (!catalog.sound()) {
    print_problems("catalog", catalog);
    fmt::print("nothing else can be checked without the catalog: {} problems\n", catalog.problem_count);
    return 1;
  }
  query::ActiveTasks tasks;
  auto engine = partitioning::Engine::open(settings, query::DatabaseServices::factory(&tasks, api::read_definition));
  if (!engine) {
    fmt::print(stderr, "octavo: {}\n", reason_of(engine.error()));
    return 1;
  }
  std::uint64_t databases = 0;
  std::uint64_t documents = 0;
  std::uint64_t problems = 0;
  std::uint64_t rows_of_format_1 = 0;
  for (const std::string& name : (*engine)->databases().names()) {
    if (!database.empty() && name != database) continue;
    ++databases;
    const auto report = check_database(**engine, name);
    if (!report) {
      ++problems;
      fmt::print("{}: {}\n", name, report.error().reason);
      continue;
    }
    documents += report->documents;
    problems += report->problem_count;
    rows_of_format_1 += report->rows_of_format_1;
    print_problems(name, *report);
  }
  if (!database.empty() && databases == 0) {
    fmt::print(stderr, "octavo: there is no database '{}' in {}\n", database, settings.data_dir.string());
    return 1;
  }
  if (rows_of_format_1 > 0) {
    fmt::print("{} rows are in data format 1: POST /{{db}}/_compact writes them again\n", rows_of_format_1);
  }
  const auto elapsed =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count();
  fmt::print("checked {} databases, {} documents in {} ms: {}\n", databases, documents, elapsed,
             problems == 0 ? "sound" : fmt::format("{} problems", problems));
  return problems == 0 ? 0 : 1;
}

}  // namespace octavo::server

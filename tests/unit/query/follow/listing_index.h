#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "query/follow/feed_indexes.h"
#include "support/engine_fixture.h"
#include "support/eventually.h"

namespace octavo::query::listing {

using octavo::tests::EngineFixture;
using octavo::tests::run_task;

using ListRows = std::map<std::string, std::string>;

/// What tests tell the listings below to do, by their content.
struct Orders {
  std::mutex mutex;
  std::map<std::string, Error> fail;
  std::map<std::string, Error> fail_to_open;
  std::map<std::string, int> opened;  ///< attempts
  std::set<std::string> hold_open;
  std::map<std::string, bool> hold;
  std::set<std::string> deaf;  ///< looks only when it is held no more whether it is to stop
  std::map<std::string, int> applied;
  std::map<std::string, int> at_most;  ///< documents in one call; 0: all
  std::map<std::string, int> scans;    ///< looks at all documents
};
inline Orders& orders() {
  static Orders all;
  return all;
}

/// An index that keeps all documents, in a JSON file.
class Listing : public FeedIndex {
 public:
  Listing(FeedIndexDefinition definition, FeedIndexOptions options)
      : definition_(std::move(definition)), options_(std::move(options)) {}

  const std::string& identity() const override { return definition_.identity; }
  const std::string& content() const { return definition_.content; }
  ListRows rows() const {
    const std::lock_guard lock(mutex_);
    return rows_;
  }
  Expected<void> open(storage::Sequence) override {
    {
      const std::lock_guard lock(orders().mutex);
      ++orders().opened[content()];
      if (orders().fail_to_open.contains(content())) return std::unexpected(orders().fail_to_open.at(content()));
    }
    while (true) {
      const std::lock_guard lock(orders().mutex);
      if (!orders().hold_open.contains(content())) break;
    }
    std::filesystem::create_directories(options_.folder);
    std::ifstream file(options_.folder / "rows");
    if (!file) return {};
    const auto stored = boost::json::parse(std::string(std::istreambuf_iterator<char>(file), {})).as_object();
    checkpoint_ = stored.at("checkpoint").to_number<std::uint64_t>();
    complete_ = stored.at("complete").to_number<std::uint64_t>();
    purges_ = stored.at("purges").to_number<std::uint64_t>();
    for (const auto& [id, json] : stored.at("rows").as_object()) rows_.emplace(id, json.as_string());
    return {};
  }
  storage::Sequence checkpoint() const override { return checkpoint_; }
  storage::Sequence complete_through() const override { return complete_; }
  std::uint64_t purge_count() const override { return purges_; }
  Expected<std::size_t> apply(const FeedChanges& changes) override {
    auto documents = changes.documents;
    {
      const std::lock_guard lock(orders().mutex);
      if (orders().fail.contains(content())) return std::unexpected(orders().fail.at(content()));
      if (const int most = orders().at_most[content()]; most > 0 && std::cmp_less(most, documents.size())) {
        documents = documents.first(static_cast<std::size_t>(most));
      }
      orders().applied[content()] += static_cast<int>(documents.size());
    }
    while (true) {
      const std::lock_guard lock(orders().mutex);
      if (*options_.stopping && !orders().deaf.contains(content())) return fail(ErrorCode::timeout, "stopped");
      if (!orders().hold[content()]) break;
    }
    if (*options_.stopping) return fail(ErrorCode::timeout, "stopped");
    const std::lock_guard lock(mutex_);
    for (const auto& document : documents) {
      if (document.present) {
        rows_[document.id] = document.json;
      } else {
        rows_.erase(document.id);
      }
    }
    checkpoint_ = std::max<storage::Sequence>(checkpoint_, changes.checkpoint_after(documents.size()));
    if (changes.complete && documents.size() == changes.documents.size()) complete_ = checkpoint_.load();
    write_rows();
    return documents.size();
  }
  storage::Sequence knows_deletions_through() const override {
    return std::max<storage::Sequence>(checkpoint_, scanned_through_);
  }
  Expected<bool> remove_purged(const GoneDocuments& gone, std::size_t) override {
    const std::lock_guard lock(mutex_);
    {
      const std::lock_guard counting(orders().mutex);
      ++orders().scans[content()];
    }
    std::erase_if(rows_, [&](const auto& row) { return *gone.is_gone(row.first); });
    purges_ = gone.purge_count;
    scanned_through_ = gone.watermark;
    write_rows();
    return true;
  }
  std::size_t open_store_count() const override { return 1; }
  std::uint64_t last_used_ms() const override { return 0; }
  std::size_t close_idle(std::uint64_t) override { return 0; }
  void remove_files() override { std::filesystem::remove_all(options_.folder); }

 private:
  void write_rows() {
    boost::json::object rows;
    for (const auto& [id, json] : rows_) rows[id] = json;
    std::ofstream(options_.folder / "rows")
        << boost::json::serialize(boost::json::object{{"checkpoint", checkpoint_.load()},
                                                      {"complete", complete_.load()},
                                                      {"purges", purges_.load()},
                                                      {"rows", std::move(rows)}});
  }
  FeedIndexDefinition definition_;
  FeedIndexOptions options_;
  mutable std::mutex mutex_;
  ListRows rows_;
  std::atomic<storage::Sequence> checkpoint_{0}, complete_{0};
  std::atomic<std::uint64_t> purges_{0};
  std::atomic<storage::Sequence> scanned_through_{0};
};

/// `{"lists":{name: content}}`; contents that begin with `late` are built on demand.
inline std::vector<FeedIndexDefinition> read_lists(std::string_view id, std::string_view, std::string_view body, bool) {
  std::vector<FeedIndexDefinition> lists;
  const auto design = boost::json::parse(body).as_object();
  if (const auto* members = design.if_contains("lists")) {
    for (const auto& [name, content] : members->as_object()) {
      const std::string text(content.as_string());
      lists.push_back({"of" + text, std::string(id), std::string(name), text, text.starts_with("late")});
    }
  }
  return lists;
}

inline const std::vector<FeedIndexKind>& list_kinds() {
  static const std::vector<FeedIndexKind> kinds{
      {"list", "lister", read_lists,
       [](const FeedIndexDefinition& definition, FeedIndexOptions options) -> Expected<std::unique_ptr<FeedIndex>> {
         return std::make_unique<Listing>(definition, std::move(options));
       }}};
  return kinds;
}

class ListExtension : public partitioning::DatabaseExtension {
 public:
  explicit ListExtension(partitioning::Database& database) : indexes(database, nullptr, list_kinds()) {}
  void design_documents_changed() override { indexes.design_documents_changed(); }
  void committed() override { indexes.committed(); }
  void shut_down() override { indexes.shut_down(); }
  FeedIndexes indexes;
};

class Lists {
 public:
  explicit Lists(partitioning::CreateDatabaseOptions options = {})
      : engine([](partitioning::Database& one) { return std::make_unique<ListExtension>(one); }) {
    orders().fail.clear();
    orders().fail_to_open.clear();
    orders().opened.clear();
    orders().hold_open.clear();
    orders().hold.clear();
    orders().deaf.clear();
    orders().applied.clear();
    orders().at_most.clear();
    orders().scans.clear();
    database = engine.create("db", options);
  }
  FeedIndexes& indexes() { return dynamic_cast<ListExtension&>(*database->extension()).indexes; }
  FeedIndexView view(std::string_view design, std::string_view name) {
    const auto catalog = *indexes().catalog();
    const auto* found = catalog->find("list", "_design/" + std::string(design), name);
    if (!found) throw std::runtime_error("no such list");
    return *found;
  }
  Expected<void> wait(const std::shared_ptr<FeedIndex>& index, int patience_ms = 20'000) {
    return run_task(
        indexes().wait_until_current(index, database->committed_sequence(),
                                     std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms)));
  }
  ListRows current_rows(std::string_view design, std::string_view name) {
    const auto found = view(design, name);
    const auto waited = wait(found.index);
    if (!waited) throw std::runtime_error(waited.error().reason);
    return dynamic_cast<Listing&>(*found.index).rows();
  }
  void put(std::string id, std::string body, bool deleted = false) {
    const auto snapshot = *database->snapshot_for_document(id);
    const auto found = *snapshot.find(id);
    std::optional<storage::Revision> parent;
    if (found && !found->deleted) parent = found->revision;
    EngineFixture::put(*database, std::move(id), std::move(body), parent, deleted);
  }
  void restart() {
    database.reset();
    engine.stop();
    engine.start();
    database = engine.engine().find_database("db");
  }
  std::vector<std::string> folders() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(database->folder())) {
      const auto name = entry.path().filename().string();
      if (name.starts_with("list-")) names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
  }
  template <class Condition>
  static bool soon(Condition condition) {
    return octavo::tests::eventually(condition, std::chrono::seconds(20));
  }
  static void hold(const std::string& content, bool held) {
    const std::lock_guard lock(orders().mutex);
    orders().hold[content] = held;
  }

  EngineFixture engine;
  std::shared_ptr<partitioning::Database> database;
};

inline std::vector<std::string> ids_in(const ListRows& rows) {
  std::vector<std::string> all;
  for (const auto& [id, json] : rows) all.push_back(id);
  return all;
}
using IdList = std::vector<std::string>;

}  // namespace octavo::query::listing

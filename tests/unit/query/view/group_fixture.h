#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/asio/thread_pool.hpp>
#include <boost/json.hpp>

#include "partitioning/keys/partition_key.h"
#include "query/view/view_group.h"
#include "query/view/view_scan.h"
#include "support/apply_changes.h"
#include "support/temporary_folder.h"

namespace octavo::tests {

/// A group of views on its own: documents are given to it as the feed would.
class GroupFixture {
 public:
  explicit GroupFixture(query::views::ViewGroupDefinition definition, storage::FaultInjector* faults = nullptr)
      : definition_(std::move(definition)), faults_(faults) {
    start(0);
  }
  ~GroupFixture() { pool_.join(); }

  void start(storage::Sequence last_sequence) {
    group.reset();
    query::FeedIndexOptions options;
    options.folder = folder_.path() / "view";
    options.durability = config::Durability::ephemeral;
    options.faults = faults_;
    options.database_tag = "tag";
    options.pool = &pool_;
    options.stopping = stopping;
    const auto content = definition_.content();
    auto made = query::views::ViewGroup::make({query::feed_index_identity(content), "_design/d", {}, content},
                                              std::move(options));
    if (!made) throw std::runtime_error(made.error().reason);
    group = std::shared_ptr<query::views::ViewGroup>(dynamic_cast<query::views::ViewGroup*>(made->release()));
    const auto opened = group->open(last_sequence);
    if (!opened) throw std::runtime_error(opened.error().reason);
  }

  /// A document as the feed brings it; an empty body: it was deleted.
  query::FeedDocument document(std::string id, std::string_view body) {
    query::FeedDocument document;
    document.sequence = ++sequence;
    document.id = std::move(id);
    document.partition_key = partitioning::partition_key_of(document.id, definition_.partitioned);
    document.present = !body.empty();
    if (document.present) {
      document.json = R"({"_id":)" + boost::json::serialize(boost::json::value(document.id)) + R"(,"_rev":"1-a")" +
                      (body.size() > 2 ? "," : "") + std::string(body.substr(1));
    }
    return document;
  }
  Expected<void> apply(const std::vector<query::FeedDocument>& documents) {
    return apply_all(*group, documents, sequence);
  }
  void put(std::string id, std::string_view body) {
    const auto applied = apply({document(std::move(id), body)});
    if (!applied) throw std::runtime_error(applied.error().reason);
  }

  /// `id key value` of each row of a range.
  std::vector<std::string> rows(std::string_view view, const query::views::KeyRange& keys = {},
                                std::string_view partition = {}, std::uint64_t skip = 0, std::size_t slice = 7) {
    const auto number = group->definition().find(view).value();
    auto range = query::views::row_range(*group, number, partition, keys);
    if (!range) return {range.error().reason};
    query::views::RowScan scan(group, number, *std::move(range), skip);
    std::vector<std::string> rows;
    while (true) {
      const auto state = scan.run({slice}, [&](const query::views::ViewRow& row) {
        rows.push_back(row.id() + " " + std::string(row.key) + " " + std::string(row.value));
        return partitioning::Visit::next;
      });
      if (!state) throw std::runtime_error(state.error().reason);
      if (*state == partitioning::ScanState::done) return rows;
    }
  }
  /// `key value` of each group.
  std::vector<std::string> reduced(std::string_view view, std::uint64_t level, const query::views::KeyRange& keys = {},
                                   std::string_view partition = {}) {
    const auto number = group->definition().find(view).value();
    auto range = query::views::row_range(*group, number, partition, keys);
    if (!range) return {range.error().reason};
    query::views::ReduceScan scan(group, number, *std::move(range), level);
    std::vector<std::string> rows;
    while (true) {
      const auto next = scan.next(false);
      if (!next) return {std::string(next.error().word) + ": " + next.error().reason};
      if (!*next) return rows;
      rows.push_back((*next)->key + " " + (*next)->value);
    }
  }
  /// The summaries of all views are what the rows say.
  std::optional<std::string> problem() {
    const auto transaction = *group->read();
    for (std::size_t i = 0; i < group->definition().views.size(); ++i) {
      auto found = query::views::check_summaries(transaction, group->trees(), i, group->reducer(i));
      if (!found) return found.error().reason;
      if (*found) return *found;
    }
    return std::nullopt;
  }

  std::shared_ptr<query::views::ViewGroup> group;
  std::shared_ptr<std::atomic<bool>> stopping = std::make_shared<std::atomic<bool>>(false);
  storage::Sequence sequence = 0;

 private:
  TemporaryFolder folder_;
  query::views::ViewGroupDefinition definition_;
  storage::FaultInjector* faults_;
  boost::asio::thread_pool pool_{2};
};

inline boost::json::value json_of(std::string_view text) {
  return boost::json::parse(text);
}

}  // namespace octavo::tests

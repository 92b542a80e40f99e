#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/byte_codec.h"
#include "query/project/projection_state.h"
#include "support/random.h"
#include "support/temporary_folder.h"

namespace octavo::tests {

/// Documents, what they are joined with, and a target: what must be in the target is worked out from all of them.
struct ProjectionModel {
  struct Document {
    bool present = false;
    std::set<std::string> targets;  ///< ids of its rows
    int version = 0;
    int order = 0;
    query::project::ProjectedDocument::Skip skip{};
    std::optional<std::string> lookup;   ///< key of join 0
    std::optional<std::string> counted;  ///< key of join 1
    bool operator==(const Document&) const = default;
  };
  using Rows = std::map<std::string, std::string>;

  std::map<std::string, Document> documents;
  std::map<std::string, int> looked_up;        ///< values of join 0
  std::map<std::string, std::string> members;  ///< of join 1: document to key
  std::set<std::string> taken;                 ///< ids in the target that belong to clients
  std::map<std::string, std::string> given;    ///< target id to the source document that counts
  std::size_t collisions = 0;

  std::uint64_t count(const std::string& key) const {
    return static_cast<std::uint64_t>(std::ranges::count(members, key, [](const auto& one) { return one.second; }));
  }
  static std::string group_of(const std::string& target) { return target.substr(0, target.find(':')); }

  /// The rows of the target, those that it refuses among them.
  Rows rows(std::uint32_t newest) {
    given.clear();
    collisions = 0;
    for (const auto& [id, document] : documents) {  // the least id first
      for (const auto& target : document.targets) {
        if (!given.emplace(target, id).second) ++collisions;
      }
    }
    std::map<std::string, std::set<std::pair<int, std::string>>> groups;
    for (const auto& [target, id] : given) groups[group_of(target)].emplace(documents.at(id).order, target);
    Rows rows;
    for (const auto& [group, ranked] : groups) {
      std::size_t number = 0;
      for (const auto& [order, target] : ranked) {
        if (newest > 0 && number++ == newest) break;
        const auto& document = documents.at(given.at(target));
        rows[target] = body(given.at(target), target, document, document.counted ? count(*document.counted) : 0);
      }
    }
    return rows;
  }
  std::string body(const std::string& id, const std::string& target, const Document& document,
                   std::uint64_t counted) const {
    const auto value = document.lookup ? looked_up.find(*document.lookup) : looked_up.end();
    return id + "/" + std::to_string(document.version) + "/" +
           (value == looked_up.end() ? "-" : std::to_string(value->second)) + "/" + std::to_string(counted) + "/" +
           target;
  }
};

/// A state on its own, and a target that takes its writes.
class ProjectionStateFixture {
 public:
  using State = query::project::ProjectionState;

  explicit ProjectionStateFixture(std::uint32_t newest) : newest_(newest) { reopen(); }

  void reopen() {
    const auto before = state_ ? std::optional(state_->numbers()) : std::nullopt;
    const auto input_before = state_ ? state_->input(0).checkpoint : 0;
    state_.reset();
    state_ = std::make_unique<State>(State::Options{.folder = folder_.path() / "state",
                                                    .durability = config::Durability::ephemeral,
                                                    .newest = newest_,
                                                    .joins = 2});
    REQUIRE(state_->open());
    if (before) CHECK(state_->numbers().rows == before->rows);
    if (before) CHECK(state_->numbers().checkpoint == before->checkpoint);
    CHECK(state_->input(0).checkpoint == input_before);
  }

  State& state() { return *state_; }
  ProjectionModel& model() { return model_; }
  ProjectionModel::Rows& target() { return target_; }
  void touch(const std::string& id) { unread_.insert(id); }

  query::project::ProjectedDocument evaluate(const std::string& id) {
    query::project::ProjectedDocument result;
    const auto found = model_.documents.find(id);
    if (found == model_.documents.end()) return result;
    const auto& document = found->second;
    result.skip = document.skip;
    result.join_keys = {document.lookup, document.counted};
    const auto counted = document.counted ? state_->count(1, *document.counted).value() : 0;
    for (const auto& target : document.targets) {
      std::string rank;
      if (newest_ > 0) {
        ByteWriter(rank).sized_bytes(ProjectionModel::group_of(target));
        rank += static_cast<char>(document.order);
      }
      result.rows.push_back({target, model_.body(id, target, document, counted), rank});
    }
    std::ranges::reverse(result.rows);
    return result;
  }

  State::Batch next_batch() {
    State::Batch batch;
    batch.checkpoint = ++checkpoint_;
    batch.refused = std::exchange(refused_, {});
    return batch;
  }
  /// At most this many documents that have changed.
  State::Batch batch_of_changes(std::size_t count_max) {
    auto batch = next_batch();
    while (!unread_.empty() && batch.changes.size() < count_max) {
      const std::string id = unread_.extract(unread_.begin()).value();
      batch.changes.push_back({id, evaluate(id)});
    }
    return batch;
  }
  /// A change of what join 0 looks up at this key, or of a count of join 1.
  void note_fan_out(std::size_t join, const std::string& key) {
    const bool is_referred_to = std::ranges::any_of(
        read_, [&](const auto& one) { return (join == 0 ? one.second.lookup : one.second.counted) == key; });
    CHECK(state_->has_referrers(join, key).value() == is_referred_to);
    if (!is_referred_to) return;
    FanOut& open = fan_outs_[{join, key}];
    open.again = open.again || open.begun;
  }
  void commit(State::Batch batch) {
    const bool has_effect = state_->has_effect(batch.changes).value() || !batch.again.empty() || !batch.refused.empty();
    const auto before = state_->numbers();
    const auto evaluate_one = [this](std::string_view id) -> Expected<query::project::ProjectedDocument> {
      return evaluate(std::string(id));
    };
    const auto make_durable = []() -> Expected<void> { return {}; };
    const auto writes = state_->commit(batch, evaluate_one, make_durable);
    REQUIRE(writes);
    for (const auto& change : batch.changes) {
      const auto found = model_.documents.find(change.id);
      read_[change.id] = found == model_.documents.end() ? ProjectionModel::Document{} : found->second;
    }
    CHECK(state_->numbers().checkpoint == checkpoint_);
    CHECK(state_->numbers().fan_outs == fan_outs_.size());
    if (!has_effect) CHECK(writes->empty());
    if (!has_effect) CHECK(state_->numbers().candidates == before.candidates);
    apply(*writes);
  }
  void apply(const std::vector<query::project::RowWrite>& writes) {
    for (const auto& write : writes) {
      if (model_.taken.contains(write.id)) {
        if (!write.deleted) refused_.push_back(write.id);
      } else if (write.deleted) {
        target_.erase(write.id);
      } else {
        target_[write.id] = write.body;
      }
    }
  }
  void deliver_again() {
    refused_.clear();
    apply(state_->outbox().value());
  }
  bool step(std::size_t count_max) {
    auto step = state_->next_step(count_max).value();
    if (!step) return false;
    auto batch = next_batch();
    for (const auto& id : step->sources) batch.changes.push_back({id, evaluate(id)});
    FanOut& open = fan_outs_.at({step->join, step->key});
    CHECK(step->visited == open.visited);
    open.begun = open.begun || !step->sources.empty();
    open.visited += step->sources.size();
    if (step->sources.empty() && open.again) {
      open = {};
    } else if (step->sources.empty()) {
      fan_outs_.erase({step->join, step->key});
    }
    batch.step = std::move(step);
    commit(std::move(batch));
    return true;
  }
  void retry_refused() {
    commit(next_batch());
    std::string after;
    while (true) {
      auto again = state_->refused_after(after, 2).value();
      if (again.empty()) break;
      after = again.back();
      auto batch = next_batch();
      batch.again = std::move(again);
      commit(std::move(batch));
    }
    commit(next_batch());
  }

  /// Reads everything, and compares.
  void check() {
    while (!unread_.empty()) commit(batch_of_changes(3));
    while (step(2)) continue;
    retry_refused();
    auto rows = model_.rows(newest_);
    const auto all = rows.size();
    const auto occupied = std::erase_if(rows, [this](const auto& row) { return model_.taken.contains(row.first); });
    CHECK(target_ == rows);
    const auto numbers = state_->numbers();
    CHECK(numbers.rows == all);
    CHECK(numbers.occupied == occupied);
    CHECK(numbers.candidates == model_.given.size());
    CHECK(numbers.collisions == model_.collisions);
    CHECK(numbers.fan_outs == 0);
    CHECK(numbers.without_key == skipped(query::project::ProjectedDocument::Skip::no_key));
    CHECK(numbers.errors == skipped(query::project::ProjectedDocument::Skip::error));
    for (const std::string key : {"x", "y", "z"}) CHECK(state_->count(1, key).value() == model_.count(key));
    CHECK(state_->rows_after({}, 1000).value().size() == all);
    std::set<std::string> keys;
    std::set<std::string> members;
    for (const auto& [id, document] : model_.documents) {
      if (document.lookup) keys.insert(*document.lookup);
    }
    for (const auto& [id, key] : model_.members) members.insert(id);
    CHECK(joined(0, false) == keys);
    CHECK(joined(1, true) == members);
    for (const auto& [id, body] : rows) CHECK(state_->has_row(id).value());
  }

 private:
  /// How far rows were made again, after a change of what they are joined with.
  struct FanOut {
    bool begun = false;
    bool again = false;
    std::size_t visited = 0;
  };
  std::set<std::string> joined(std::size_t join, bool is_count) {
    std::set<std::string> all;
    std::string after;
    while (true) {
      const auto some = state_->joined_after(join, is_count, after, 1).value();
      if (some.empty()) return all;
      after = some.back();
      CHECK(all.insert(after).second);
    }
  }
  std::size_t skipped(query::project::ProjectedDocument::Skip skip) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(model_.documents, [skip](const auto& one) { return one.second.skip == skip; }));
  }

  const std::uint32_t newest_;
  TemporaryFolder folder_;
  std::unique_ptr<State> state_;
  ProjectionModel model_;
  ProjectionModel::Rows target_;
  std::set<std::string> unread_;                                    ///< documents whose changes the state has not seen
  std::map<std::string, ProjectionModel::Document> read_;           ///< as the state has seen them
  std::map<std::pair<std::size_t, std::string>, FanOut> fan_outs_;  ///< by join and key
  std::vector<std::string> refused_;
  storage::Sequence checkpoint_ = 0;
};

}  // namespace octavo::tests

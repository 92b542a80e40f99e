// Which documents of a copy have which ids in the target, also after crashes between the steps of a batch.
#include "query/copy/copy_state.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "support/random.h"
#include "support/temporary_folder.h"

using namespace octavo;
using octavo::tests::below;
using query::copy::CopiedDocument;
using query::copy::CopyState;

namespace {

/// A source, as the ids that its documents ask for, and a target, as the documents that have its ids.
class CopyModel {
 public:
  explicit CopyModel(bool has_unique_ids = false) : has_unique_ids_(has_unique_ids) { open(); }

  void open() {
    state_.reset();
    state_ = std::make_unique<CopyState>(CopyState::Options{.folder = folder_.path() / "copy"});
    REQUIRE(state_->open());
  }

  CopiedDocument document(const std::string& source_id) const {
    CopiedDocument document{source_id, std::nullopt, {}};
    document.copy.exists = true;
    const auto wanted = wanted_.find(source_id);
    document.copy.deleted = wanted == wanted_.end();
    if (wanted != wanted_.end() && !wanted->second.empty()) document.id = wanted->second;
    return document;
  }
  /// `id` empty: the document can have none. nullopt: it is deleted.
  void want(const std::string& source_id, const std::optional<std::string>& id) {
    if (id) {
      wanted_[source_id] = *id;
    } else {
      wanted_.erase(source_id);
    }
  }
  bool is_wanted(const std::string& id) const {
    return std::ranges::any_of(wanted_, [&](const auto& one) { return one.second == id; });
  }

  enum class Crash { none, before_commit, before_writing };
  Expected<void> copy(const std::set<std::string>& ids, Crash crash = Crash::none) {
    std::vector<CopiedDocument> documents;
    for (const std::string& id : ids) documents.push_back(document(id));
    const auto has_id = [&](std::string_view source_id, std::string_view id) -> Expected<bool> {
      return document(std::string(source_id)).id == id;
    };
    const auto remove = [&](const std::vector<std::string>& removed) -> Expected<void> {
      for (const std::string& id : removed) target_.erase(id);
      if (crash == Crash::before_commit) return fail(ErrorCode::io_failure, "no disk");
      return {};
    };
    OCTAVO_TRY_VOID(state_->commit({documents, ++checkpoint_, 0, false, has_unique_ids_}, has_id, remove));
    if (crash != Crash::none) return {};
    for (const CopiedDocument& document : documents) {
      if (!document.id) continue;
      if (document.copy.deleted) {
        target_.erase(*document.id);
      } else {
        target_[*document.id] = document.source_id;
      }
    }
    return {};
  }

  std::map<std::string, std::string> expected() const {
    std::map<std::string, std::string> all;
    for (const auto& [source_id, id] : wanted_) {
      if (!id.empty()) all[id] = source_id;
    }
    return all;
  }
  std::uint64_t without_id() const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(wanted_, [](const auto& one) { return one.second.empty(); }));
  }
  const std::map<std::string, std::string>& target() const { return target_; }
  CopyState& state() { return *state_; }

 private:
  const bool has_unique_ids_;
  octavo::tests::TemporaryFolder folder_;
  std::unique_ptr<CopyState> state_;
  std::map<std::string, std::string> wanted_;
  std::map<std::string, std::string> target_;
  storage::Sequence checkpoint_ = 0;
};

}  // namespace

TEST_CASE("a document that gets another id leaves the one that it had") {
  CopyModel model;
  model.want("a", "x:1");
  REQUIRE(model.copy({"a"}));
  model.want("a", "y:1");
  REQUIRE(model.copy({"a"}));
  CHECK(model.target() == model.expected());
}

TEST_CASE("an id that a document has left may be taken before this is known") {
  CopyModel model;
  model.want("a", "x:1");
  REQUIRE(model.copy({"a"}));
  model.want("a", "y:1");
  model.want("b", "x:1");
  REQUIRE(model.copy({"b"}));
  REQUIRE(model.copy({"a"}));
  CHECK(model.target() == model.expected());
}

TEST_CASE("a deletion and the next document with its id may come in one batch") {
  CopyModel model;
  model.want("b", "x:1");
  REQUIRE(model.copy({"b"}));
  model.want("b", std::nullopt);
  model.want("a", "x:1");
  REQUIRE(model.copy({"a", "b"}));
  CHECK(model.target() == model.expected());
}

TEST_CASE("two documents that ask for one id are a collision") {
  CopyModel model;
  model.want("a", "x:1");
  REQUIRE(model.copy({"a"}));
  model.want("b", "x:1");
  const auto copied = model.copy({"b"});
  REQUIRE(!copied);
  CHECK(copied.error().word == "copy_collision");
  model.want("a", std::nullopt);
  REQUIRE(model.copy({"a", "b"}));
  CHECK(model.target() == model.expected());
}

TEST_CASE("after a crash a batch of a copy may be repeated, with what has changed since") {
  octavo::tests::Random random(20261127);
  const std::array<std::string, 6> ids{"x:1", "x:2", "y:1", "y:" + std::string(600, 'l'), "z:1", ""};
  const bool has_unique_ids = GENERATE(false, true);
  CopyModel model(has_unique_ids);
  std::set<std::string> changed;
  for (int round = 0; round < 400; ++round) {
    for (std::size_t edits = 1 + below(random, 4); edits > 0; --edits) {
      const std::string source_id = "d" + std::to_string(below(random, 8));
      std::string id = ids.at(below(random, ids.size()));
      if (has_unique_ids && !id.empty()) id += source_id;
      model.want(source_id, std::nullopt);
      if (below(random, 4) != 0 && (id.empty() || !model.is_wanted(id))) model.want(source_id, id);
      changed.insert(source_id);
    }
    // In the order of a feed that shows only the last change, so any of the changed ones may be missing.
    std::set<std::string> batch;
    for (const std::string& source_id : changed) {
      if (below(random, 3) != 0) batch.insert(source_id);
    }
    const auto crash = static_cast<CopyModel::Crash>(below(random, 3));
    const auto copied = model.copy(batch, crash);
    if (copied && crash == CopyModel::Crash::none) {
      for (const std::string& source_id : batch) changed.erase(source_id);
    }
    if (below(random, 4) == 0) model.open();
    if (below(random, 5) != 0) continue;
    REQUIRE(model.copy(changed));
    changed.clear();
    REQUIRE(model.target() == model.expected());
    REQUIRE(model.state().numbers().skipped == model.without_id());
  }
}

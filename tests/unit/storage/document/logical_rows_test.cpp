// Statistics, feeds and unique keys of logical partitions, against sets of sequences and documents.
#include "storage/document/logical_rows.h"

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "storage/document/document_record.h"
#include "storage/partition/document_copy.h"
#include "storage/partition/partition_transaction.h"
#include "storage/partition/unique_keys.h"
#include "support/format_1.h"
#include "support/partition_fixture.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::PartitionFixture;
using octavo::tests::store_logical_as_format_1;

namespace {

logical_rows::Trees trees_in(PartitionFixture& fixture) {
  return {fixture.tree(PartitionTree::logical), fixture.tree(PartitionTree::feed),
          fixture.tree(PartitionTree::partitions)};
}

void change(PartitionFixture& fixture, FunctionRef<Expected<void>(WriteTransaction&)> body) {
  const auto changed = fixture.partition().store().write(0, body);
  REQUIRE(changed);
}

std::uint64_t rows_in(PartitionFixture& fixture, PartitionTree name) {
  const Snapshot snapshot = fixture.snapshot();
  return count_rows(snapshot.transaction(), fixture.tree(name));
}

/// The set of sequences of one logical partition without documents.
class SequencesModel {
 public:
  explicit SequencesModel(unsigned seed) : random_(seed) {
    REQUIRE(fixture_.put("other:1", "{}"));  // opens the store
  }

  std::uint32_t below(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }

  /// One group of writes.
  void group(FunctionRef<Expected<void>(WriteTransaction&, logical_rows::Partition&)> body) {
    change(fixture_, [&](WriteTransaction& transaction) -> Expected<void> {
      OCTAVO_TRY(auto partition, logical_rows::load(transaction, trees_in(fixture_), key));
      OCTAVO_TRY_VOID(body(transaction, partition));
      partition.record.statistics.document_count = expected_.size();
      std::size_t former_rows_left = logical_rows::former_rows_per_group;
      return logical_rows::store(transaction, trees_in(fixture_), key, partition, former_rows_left);
    });
  }

  Expected<void> add(WriteTransaction& transaction, logical_rows::Partition& partition) {
    last_ += 1 + below(below(8) == 0 ? 100'000 : 3);
    expected_.insert(last_);
    return logical_rows::add(transaction, trees_in(fixture_), key, partition, last_);
  }

  /// Any sequence that is missing, as when another partition is adopted.
  Expected<void> insert(WriteTransaction& transaction, logical_rows::Partition& partition) {
    const Sequence sequence = 1 + below(static_cast<std::uint32_t>(last_) + 10);
    if (!expected_.insert(sequence).second) return {};
    last_ = std::max(last_, sequence);
    return logical_rows::insert(transaction, trees_in(fixture_), key, partition, sequence);
  }

  Expected<void> remove(WriteTransaction& transaction, logical_rows::Partition& partition) {
    if (expected_.empty()) return {};
    auto found = expected_.lower_bound(below(static_cast<std::uint32_t>(last_) + 1));
    if (found == expected_.end()) --found;
    const Sequence sequence = *found;
    expected_.erase(found);
    return logical_rows::remove(transaction, trees_in(fixture_), key, partition, sequence);
  }

  void compare() {
    const Snapshot snapshot = fixture_.snapshot();
    const auto feed = [&] { return logical_rows::Feed(snapshot.transaction(), trees_in(fixture_), key); };
    std::vector<Sequence> forward;
    auto up = feed();
    for (auto sequence = up.seek(0); sequence; sequence = up.next()) forward.push_back(*sequence);
    REQUIRE(forward == std::vector<Sequence>(expected_.begin(), expected_.end()));
    std::vector<Sequence> backward;
    auto down = feed();
    for (auto sequence = down.seek_back(~Sequence{0}); sequence; sequence = down.previous()) {
      backward.push_back(*sequence);
    }
    std::ranges::reverse(backward);
    REQUIRE(backward == forward);
    for (int i = 0; i < 20; ++i) compare_near(feed(), below(static_cast<std::uint32_t>(last_) + 10));
    REQUIRE(logical_rows::last_change(snapshot.transaction(), trees_in(fixture_), key).value() ==
            (expected_.empty() ? 0 : *expected_.rbegin()));
    REQUIRE(logical_rows::statistics(snapshot.transaction(), trees_in(fixture_), key)->document_count ==
            expected_.size());
  }

  void reopen() { fixture_.open(last_); }
  /// Without that of the document which opened the store.
  std::uint64_t rows() { return rows_in(fixture_, PartitionTree::logical) - 1; }
  std::size_t size() const { return expected_.size(); }

 private:
  static std::optional<Sequence> at(const std::set<Sequence>& set, std::set<Sequence>::const_iterator position) {
    return position == set.end() ? std::nullopt : std::optional(*position);
  }

  void compare_near(logical_rows::Feed feed, Sequence sequence) const {
    const auto from = expected_.lower_bound(sequence);
    const auto after = expected_.upper_bound(sequence);
    REQUIRE(feed.seek(sequence) == at(expected_, from));
    if (from != expected_.end()) {
      REQUIRE(feed.next() == at(expected_, std::next(from)));
    }
    const auto to = after == expected_.begin() ? std::nullopt : std::optional(*std::prev(after));
    REQUIRE(feed.seek_back(sequence) == to);
    if (to) {
      REQUIRE(feed.next() == at(expected_, after));
    }
  }

  static constexpr std::string_view key = "p";
  PartitionFixture fixture_;
  std::mt19937 random_;
  std::set<Sequence> expected_;
  Sequence last_ = 0;
};

/// Ids of the feed of a logical partition.
std::vector<std::string> ids_of(PartitionFixture& fixture, std::string_view key) {
  std::vector<std::string> ids;
  const Snapshot snapshot = fixture.snapshot();
  auto cursor = snapshot.feed_of(key);
  for (auto row = cursor.seek(0); row; row = cursor.next()) ids.emplace_back(row->id);
  std::vector<std::string> backward;
  for (auto row = cursor.seek_back(~Sequence{0}); row; row = cursor.previous()) backward.emplace_back(row->id);
  std::ranges::reverse(backward);
  REQUIRE(backward == ids);
  return ids;
}

std::vector<std::string> keys_of(PartitionFixture& fixture) {
  std::vector<std::string> keys;
  REQUIRE(fixture.snapshot().for_each_partition(
      [&](std::string_view key, const DocumentStatistics&) { keys.emplace_back(key); }));
  return keys;
}

std::string id_of(std::string_view key, int number) {
  return std::string(key) + ":" + std::to_string(100'000 + number);
}

/// Returns the ids in their order.
std::vector<std::string> fill(PartitionFixture& fixture, std::string_view key, int begin, int end) {
  std::vector<DocumentWrite> writes;
  std::vector<std::string> ids;
  for (int i = begin; i < end; ++i) {
    ids.push_back(id_of(key, i));
    writes.push_back(PartitionFixture::make(ids.back(), "{}"));
  }
  for (const auto& written : fixture.write(std::move(writes))) REQUIRE(written);
  return ids;
}

void update(PartitionFixture& fixture, const std::string& id) {
  const Revision revision = fixture.snapshot().find(id).value().value().revision;
  REQUIRE(fixture.put(id, R"({"again":true})", revision));
}

void purge(PartitionFixture& fixture, const std::vector<std::string>& ids) {
  std::vector<PurgeRequest> requests;
  for (const std::string& id : ids) {
    const Revision revision = fixture.snapshot().find(id).value().value().revision;
    requests.push_back({id, std::string_view(id).substr(0, id.find(':')), {revision}});
  }
  std::promise<bool> done;
  fixture.partition().purge(std::move(requests), [&](const auto& purged) { done.set_value(purged.has_value()); });
  REQUIRE(done.get_future().get());
}

/// The body as a whole is unique.
class UniqueWholes final : public UniqueKeys {
 public:
  std::vector<std::string> digests(std::string_view body) const override {
    std::string digest(body);
    digest.resize(16, ' ');
    return {digest};
  }
};

/// The first problem that `octavo check` finds.
std::string problem_of(PartitionFixture& fixture) {
  const auto report = check_partition(fixture.partition(), true);
  REQUIRE(report);
  return report->problems.empty() ? std::string() : report->problems.front();
}

}  // namespace

TEST_CASE("sequences are added, removed and found as in a set") {
  SequencesModel model(GENERATE(1U, 2U, 3U));
  for (int group = 0; group < 120; ++group) {
    // Phases of growth and of decrease.
    const bool grows = group / 20 % 2 == 0;
    model.group([&](WriteTransaction& transaction, logical_rows::Partition& partition) -> Expected<void> {
      for (std::uint32_t i = model.below(80); i > 0; --i) {
        const bool removes = model.below(10) < (grows ? 3U : 8U);
        OCTAVO_TRY_VOID(removes ? model.remove(transaction, partition) : model.add(transaction, partition));
      }
      return {};
    });
    if (model.below(10) == 0) model.reopen();
    model.compare();
  }
}

TEST_CASE("sequences are inserted in any order") {
  SequencesModel model(GENERATE(4U, 5U));
  for (int group = 0; group < 60; ++group) {
    model.group([&](WriteTransaction& transaction, logical_rows::Partition& partition) -> Expected<void> {
      for (std::uint32_t i = model.below(80); i > 0; --i) {
        const std::uint32_t kind = model.below(8);
        OCTAVO_TRY_VOID(kind < 4   ? model.insert(transaction, partition)
                        : kind < 6 ? model.add(transaction, partition)
                                   : model.remove(transaction, partition));
      }
      return {};
    });
    model.compare();
  }
}

TEST_CASE("chunks of which little is left are merged") {
  SequencesModel model(6);
  model.group([&](WriteTransaction& transaction, logical_rows::Partition& partition) -> Expected<void> {
    for (int i = 0; i < 5000; ++i) OCTAVO_TRY_VOID(model.add(transaction, partition));
    return {};
  });
  CHECK(model.rows() > 100);
  model.group([&](WriteTransaction& transaction, logical_rows::Partition& partition) -> Expected<void> {
    while (model.size() > 200) OCTAVO_TRY_VOID(model.remove(transaction, partition));
    return {};
  });
  CHECK(model.rows() <= 1 + 200 / 12);
  model.compare();
  model.group([&](WriteTransaction& transaction, logical_rows::Partition& partition) -> Expected<void> {
    while (model.size() > 0) OCTAVO_TRY_VOID(model.remove(transaction, partition));
    return {};
  });
  CHECK(model.rows() == 0);
  model.compare();
}

TEST_CASE("the feed of a logical partition follows updates, deletions and restarts") {
  PartitionFixture fixture;
  std::mt19937 random(7);
  std::map<std::string, std::vector<std::string>> expected;  // ids by partition key, in the order of their changes
  for (int step = 0; step < 400; ++step) {
    const std::string key = std::string(1, static_cast<char>('a' + random() % 3));
    const std::string id = id_of(key, static_cast<int>(random() % 150));
    const auto stored = fixture.snapshot().find(id).value();
    const bool deletes = stored && !stored->deleted && random() % 4 == 0;
    const std::optional<Revision> parent = stored && !stored->deleted ? std::optional(stored->revision) : std::nullopt;
    REQUIRE(fixture.put(id, "{\"n\":" + std::to_string(step) + "}", parent, deletes));
    std::erase(expected[key], id);
    expected[key].push_back(id);
    if (step % 50 == 0) {
      const Sequence last = fixture.snapshot().last_sequence().value();  // the snapshot ends before the partition does
      fixture.open(last);
    }
  }
  for (const auto& [key, ids] : expected) {
    CHECK(ids_of(fixture, key) == ids);
    const auto statistics = fixture.snapshot().statistics_of(key).value();
    CHECK(statistics.document_count + statistics.deleted_count == ids.size());
  }
  CHECK(keys_of(fixture) == std::vector<std::string>{"a", "b", "c"});
  CHECK(fixture.is_sound());
}

TEST_CASE("a logical partition takes few bytes for each document") {
  PartitionFixture fixture;
  fill(fixture, "p", 0, 10'000);
  std::uint64_t bytes = 0;
  const Snapshot snapshot = fixture.snapshot();
  Cursor cursor(snapshot.transaction(), fixture.tree(PartitionTree::logical));
  for (auto row = cursor.first(); row; row = cursor.next()) bytes += row->key.size() + row->value.size() + 10;
  CHECK(bytes < 10'000 * 2);
  CHECK(rows_in(fixture, PartitionTree::partitions) == 0);
}

TEST_CASE("edits of a transaction that is undone leave the feed as it was") {
  PartitionFixture fixture;
  const auto ids = fill(fixture, "p", 0, 150);
  const Revision revision = fixture.snapshot().find(ids.front()).value().value().revision;
  std::promise<Expected<void>> done;
  fixture.partition().run_transaction(
      [&](PartitionTransaction& transaction) -> Expected<bool> {
        for (int i = 0; i < 100; ++i) {
          DocumentWrite write = PartitionFixture::make(id_of("p", 500 + i), "{}");
          write.partition_key = "p";
          OCTAVO_TRY_VOID(transaction.apply(write));
        }
        DocumentWrite write = PartitionFixture::make(ids.front(), R"({"v":2})", revision);
        write.partition_key = "p";
        OCTAVO_TRY(const auto written, transaction.apply(write));
        CHECK(written);
        CHECK(transaction.last_change("p").value() == written->sequence);
        return false;
      },
      {}, 1000, [&](Expected<void> result) { done.set_value(std::move(result)); });
  REQUIRE(done.get_future().get());
  CHECK(ids_of(fixture, "p") == ids);
  CHECK(fixture.is_sound());
  fill(fixture, "p", 150, 151);
  CHECK(ids_of(fixture, "p").size() == 151);
  CHECK(fixture.is_sound());
}

TEST_CASE("the last change is found when the newest documents are purged") {
  PartitionFixture fixture;
  fill(fixture, "o", 0, 1);
  auto ids = fill(fixture, "p", 0, 100);
  CHECK(fixture.snapshot().last_change("p").value() == 101);
  purge(fixture, {ids.begin() + 40, ids.end()});
  ids.resize(40);
  CHECK(ids_of(fixture, "p") == ids);
  CHECK(fixture.snapshot().last_change("p").value() == 41);
  CHECK(fixture.is_sound());
  const auto more = fill(fixture, "p", 200, 203);
  ids.insert(ids.end(), more.begin(), more.end());
  CHECK(ids_of(fixture, "p") == ids);
  CHECK(fixture.is_sound());
  purge(fixture, ids);
  CHECK(fixture.snapshot().last_change("p").value() == 0);
  CHECK(rows_in(fixture, PartitionTree::logical) == 1);
  CHECK(keys_of(fixture) == std::vector<std::string>{"o"});
  CHECK(fixture.is_sound());
}

TEST_CASE("logical partitions with long keys that begin equally are distinct") {
  PartitionFixture fixture;
  fixture.partition().set_unique_keys(std::make_shared<UniqueWholes>());
  const std::string beginning(400, 'k');
  const std::vector<std::string> keys{beginning, beginning + "a", beginning + std::string(6500, 'b')};
  for (const std::string& key : keys) {
    REQUIRE(fixture.put(key + ":unique", R"({"u":1})"));
    CHECK(fixture.put(key + ":other", R"({"u":1})").error().code == ErrorCode::unique_key_violated);
    for (int i = 0; i < 70; ++i) REQUIRE(fixture.put(id_of(key, i), "{\"n\":" + std::to_string(i) + "}"));
  }
  for (const std::string& key : keys) {
    update(fixture, id_of(key, 0));
    const auto ids = ids_of(fixture, key);
    REQUIRE(ids.size() == 71);
    CHECK(ids.front() == key + ":unique");
    CHECK(ids.back() == id_of(key, 0));
    CHECK(fixture.snapshot().statistics_of(key).value().document_count == 71);
  }
  auto found = keys_of(fixture);
  std::ranges::sort(found);
  CHECK(found == keys);
  CHECK(fixture.is_sound());
  store_logical_as_format_1(fixture, keys.back());
  CHECK(ids_of(fixture, keys.back()).size() == 71);
  CHECK(fixture.is_sound());
}

TEST_CASE("a logical partition of format 1 is read, and moves when it is written") {
  const int documents = GENERATE(3, 64, 300);
  PartitionFixture fixture;
  fill(fixture, "o", 0, 3);
  auto ids = fill(fixture, "p", 0, documents);
  const Sequence last = fixture.snapshot().last_change("p").value();
  store_logical_as_format_1(fixture, "p");
  CHECK(rows_in(fixture, PartitionTree::partitions) == static_cast<std::uint64_t>(documents) + 1);
  CHECK(ids_of(fixture, "p") == ids);
  CHECK(fixture.snapshot().last_change("p").value() == last);
  CHECK(fixture.snapshot().statistics_of("p").value().document_count == static_cast<std::uint64_t>(documents));
  CHECK(keys_of(fixture) == std::vector<std::string>{"o", "p"});
  CHECK(fixture.is_sound());

  update(fixture, ids[1]);
  std::rotate(ids.begin() + 1, ids.begin() + 2, ids.end());
  CHECK(rows_in(fixture, PartitionTree::partitions) == 0);
  CHECK(ids_of(fixture, "p") == ids);
  CHECK(keys_of(fixture) == std::vector<std::string>{"o", "p"});
  CHECK(fixture.is_sound());
}

TEST_CASE("a large logical partition of format 1 moves in parts") {
  PartitionFixture fixture;
  auto ids = fill(fixture, "p", 0, 2500);
  store_logical_as_format_1(fixture, "p");
  std::uint64_t rows = rows_in(fixture, PartitionTree::partitions);
  for (int i = 0; rows > 0; ++i) {
    REQUIRE(i < 4);
    // The oldest one, which is among the rows that have not moved yet.
    update(fixture, ids.front());
    std::rotate(ids.begin(), ids.begin() + 1, ids.end());
    const std::uint64_t rows_now = rows_in(fixture, PartitionTree::partitions);
    CHECK(rows - rows_now <= logical_rows::former_rows_per_group + 2);
    CHECK(rows - rows_now >= 450);
    rows = rows_now;
    CHECK(ids_of(fixture, "p") == ids);
    CHECK(fixture.snapshot().last_change("p").value() == 2501 + static_cast<Sequence>(i));
    CHECK(fixture.is_sound());
  }
  CHECK(rows_in(fixture, PartitionTree::logical) < 2500 / 40 + 10);
}

TEST_CASE("a row of format 1 that belongs to another logical partition is not shown, and stays") {
  PartitionFixture fixture;
  const auto ids = fill(fixture, "p", 0, 3);
  const Sequence foreign = fixture.put("q:foreign", "{}").value().sequence;
  store_logical_as_format_1(fixture, "p");
  change(fixture, [&](WriteTransaction& transaction) {
    std::string key = partition_feed_prefix("p");  // as if "q" had the same hash
    append_key_u64(key, foreign);
    return transaction.put(fixture.tree(PartitionTree::partitions), key, {});
  });
  CHECK(ids_of(fixture, "p") == ids);
  const auto more = fill(fixture, "p", 10, 11);
  CHECK(ids_of(fixture, "p") == std::vector<std::string>{ids[0], ids[1], ids[2], more[0]});
  CHECK(rows_in(fixture, PartitionTree::partitions) == 1);
  update(fixture, ids[0]);
  CHECK(ids_of(fixture, "p") == std::vector<std::string>{ids[1], ids[2], more[0], ids[0]});
  CHECK(rows_in(fixture, PartitionTree::partitions) == 1);
}

TEST_CASE("a unique key of format 1 counts until it is given back or taken again") {
  PartitionFixture fixture;
  fixture.partition().set_unique_keys(std::make_shared<UniqueWholes>());
  const auto one = fixture.put("p:1", R"({"u":1})").value();
  const auto two = fixture.put("p:2", R"({"u":2})").value();
  store_logical_as_format_1(fixture, "p");
  CHECK(fixture.is_sound());
  std::string digest = R"({"u":1})";
  digest.resize(16, ' ');
  CHECK(fixture.snapshot().unique_owner("p", digest).value() == "p:1");
  CHECK(fixture.put("p:3", R"({"u":1})").error().code == ErrorCode::unique_key_violated);
  const auto moved = fixture.put("p:1", R"({"u":3})", one.revision);
  REQUIRE(moved);
  CHECK_FALSE(fixture.snapshot().unique_owner("p", digest).value());
  REQUIRE(fixture.put("p:3", R"({"u":1})"));
  CHECK(fixture.snapshot().unique_owner("p", digest).value() == "p:3");
  CHECK(fixture.put("p:4", R"({"u":2})").error().code == ErrorCode::unique_key_violated);
  REQUIRE(fixture.put("p:2", "{}", two.revision, true));
  CHECK(fixture.put("p:4", R"({"u":2})"));
  CHECK(rows_in(fixture, PartitionTree::partitions) == 0);
  CHECK(fixture.is_sound());
}

TEST_CASE("another partition takes over a feed in any order") {
  PartitionFixture source;
  auto ids = fill(source, "p", 0, 300);
  const auto others = fill(source, "q", 0, 5);
  update(source, ids[7]);
  std::rotate(ids.begin() + 7, ids.begin() + 8, ids.end());
  PartitionFixture target;
  std::vector<std::string> shuffled = ids;
  shuffled.insert(shuffled.end(), others.begin(), others.end());
  shuffled.insert(shuffled.end(), ids.begin(), ids.begin() + 100);  // the second copy replaces the first
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(8));
  for (std::size_t begin = 0; begin < shuffled.size(); begin += 50) {
    PartitionCopy copy;
    {
      const Snapshot snapshot = source.snapshot();
      const CopyReader reader(source.partition().store(), snapshot.transaction());
      for (std::size_t i = begin; i < std::min(begin + 50, shuffled.size()); ++i) {
        copy.documents.push_back(reader.document(shuffled[i]).value());
      }
    }
    for (DocumentCopy& document : copy.documents) document.partition_key = std::string_view(document.id).substr(0, 1);
    std::promise<bool> done;
    target.partition().adopt(std::move(copy), [&](const auto& adopted) { done.set_value(adopted.has_value()); });
    REQUIRE(done.get_future().get());
  }
  CHECK(ids_of(target, "p") == ids);
  CHECK(ids_of(target, "q") == others);
  CHECK(target.is_sound());
}

TEST_CASE("damage of the rows of a logical partition is found and named") {
  PartitionFixture fixture;
  fill(fixture, "p", 0, 200);
  CHECK(problem_of(fixture).empty());
  const std::string name = logical_name("p");
  const auto record_with = [&](auto edit) {
    const Snapshot snapshot = fixture.snapshot();
    auto record = logical_rows::load(snapshot.transaction(), trees_in(fixture), "p").value().record;
    edit(record);
    std::string bytes;
    encode_logical_record(bytes, "p", record);
    return bytes;
  };
  const auto put = [&](PartitionTree tree, const std::string& key, const std::string& value) {
    change(fixture, [&](WriteTransaction& transaction) { return transaction.put(fixture.tree(tree), key, value); });
  };
  SECTION("a sequence of no document in the record") {
    put(PartitionTree::logical, name, record_with([](LogicalRecord& record) { record.newest.push_back(1000); }));
    CHECK(problem_of(fixture) == "logical: 201 sequences for 200 documents");
  }
  SECTION("a sequence that is missing in the record") {
    put(PartitionTree::logical, name, record_with([](LogicalRecord& record) { record.newest.pop_back(); }));
    CHECK(problem_of(fixture) == "logical 'p': 199 rows of its feed for 200 documents");
  }
  SECTION("a record that cannot be read") {
    put(PartitionTree::logical, name, "\x01");
    CHECK(problem_of(fixture) == "logical 'p': the record is damaged");
    const Snapshot snapshot = fixture.snapshot();
    CHECK(snapshot.statistics_of("p").error().code == ErrorCode::corrupted);
    CHECK_THROWS(snapshot.feed_of("p").seek(1));
  }
  SECTION("a chunk that cannot be read") {
    put(PartitionTree::logical, feed_chunk_key(name, 1), "\x80");
    CHECK(problem_of(fixture) == "logical 'p': the chunk 1 is damaged");
  }
  SECTION("a chunk that is missing") {
    change(fixture, [&](WriteTransaction& transaction) -> Expected<void> {
      OCTAVO_TRY_VOID(transaction.erase(fixture.tree(PartitionTree::logical), feed_chunk_key(name, 1)));
      return {};
    });
    CHECK(problem_of(fixture) == "logical 'p': 152 rows of its feed for 200 documents");
  }
  SECTION("a chunk beside others") {
    std::string bytes;
    encode_feed_chunk(bytes, {2, {2, 3}});
    put(PartitionTree::logical, feed_chunk_key(name, 2), bytes);
    CHECK(problem_of(fixture) == "logical 'p': the chunk 2 overlaps another one");
  }
  SECTION("a chunk of no logical partition") {
    std::string bytes;
    encode_feed_chunk(bytes, {2, {2, 3}});
    put(PartitionTree::logical, feed_chunk_key(logical_name("q"), 2), bytes);
    CHECK(problem_of(fixture) == "logical 'q': there is no record");
  }
  SECTION("a logical partition without documents") {
    std::string bytes;
    encode_logical_record(bytes, "q", {});
    put(PartitionTree::logical, logical_name("q"), bytes);
    CHECK(problem_of(fixture) == "logical: 2 records for 1 logical partitions");
  }
  SECTION("a row of format 1 that has moved") {
    std::string key = partition_feed_prefix("p");
    append_key_u64(key, 200);
    put(PartitionTree::partitions, key, "");
    CHECK_FALSE(problem_of(fixture).empty());
  }
  SECTION("a unique key of a document that does not exist") {
    put(PartitionTree::logical, unique_key_row(name, std::string(16, 'd')), "p:none");
    CHECK(problem_of(fixture) == "logical: a unique key belongs to 'p:none', which does not exist");
  }
  SECTION("a key that no row has") {
    put(PartitionTree::logical, name + "\x05", "");
    CHECK(problem_of(fixture) == "logical: the key of a row is damaged");
  }
}

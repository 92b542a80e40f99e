// Rows of format 1 get the present form before a compaction, and readers see no difference.
#include "storage/upgrade/format_upgrade.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/byte_codec.h"
#include "storage/document/logical_record.h"
#include "storage/document/revision_tree.h"
#include "storage/lmdb/store_preparation.h"
#include "storage/partition/unique_keys.h"
#include "support/digest_row.h"
#include "support/fault_plan.h"
#include "support/format_1.h"
#include "support/partition_fixture.h"
#include "support/revisions.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::FaultPlan;
using octavo::tests::PartitionFixture;
using octavo::tests::rev;

namespace {

/// The whole body is the unique value if its first member is `u`.
class UniqueMarkedBodies final : public UniqueKeys {
 public:
  std::vector<std::string> digests(std::string_view body) const override {
    if (!body.starts_with("{\"u\"")) return {};
    std::string digest(body);
    digest.resize(unique_digest_bytes, ' ');
    return {digest};
  }
};

std::string long_id(std::string_view partition_key, int number) {
  return fmt::format("{}:{}{}", partition_key, std::string(600, 'k'), number);
}

/// All that readers see: a line for each change, leaf, logical partition and local document.
std::vector<std::string> state_of(PartitionFixture& fixture) {
  std::vector<std::string> lines;
  const Snapshot snapshot = fixture.snapshot();
  auto feed = snapshot.feed();
  for (auto row = feed.seek(1); row; row = feed.next()) {
    const std::string id(row->id);
    const auto document = snapshot.find(id).value().value();
    lines.push_back(fmt::format("{} {} {} {} {} {} {}", row->sequence, id, row->revision.to_string(), row->deleted,
                                row->has_conflicts, document.modified_s, document.body));
    const RevisionTree tree = snapshot.revision_tree(document).value();
    for (const RevisionTree::Node* leaf : tree.leaves()) {
      std::string line = fmt::format("  {}", leaf->deleted);
      for (const Revision& revision : tree.history(leaf->revision)) line += " " + revision.to_string();
      if (leaf->revision != document.revision) {
        line += " " + std::string(snapshot.leaf_body(document, leaf->revision).value().value());
      }
      lines.push_back(std::move(line));
    }
  }
  for (const auto* key : {"p", "q", "large", "other"}) {
    const DocumentStatistics statistics = snapshot.statistics_of(key).value();
    std::string line = fmt::format("{}: {} {} {}:", key, statistics.document_count, statistics.deleted_count,
                                   statistics.external_bytes);
    auto part = snapshot.feed_of(key);
    for (auto row = part.seek(1); row; row = part.next()) line += fmt::format(" {}", row->sequence);
    lines.push_back(std::move(line));
  }
  auto local = snapshot.local_documents();
  for (auto row = local.seek(""); row; row = local.next()) lines.push_back(fmt::format("local {}", row->id));
  return lines;
}

/// Puts the row of a long id in the form of older versions.
void use_old_form(PartitionFixture& fixture, PartitionTree name, const std::string& key) {
  REQUIRE(fixture.partition().store().write(0, [&](WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY_VOID(octavo::tests::erase_format_mark(fixture, transaction));
    OCTAVO_TRY(const auto stored, long_key::get(transaction, fixture.tree(name), key));
    const std::string value(stored.value());
    OCTAVO_TRY_VOID(long_key::erase(transaction, fixture.tree(name), key));
    return octavo::tests::put_digest_row(transaction, fixture.tree(name), key, value);
  }));
}

/// Something of everything, as a data folder of format 1 has it.
void fill_as_format_1(PartitionFixture& fixture, int documents) {
  std::vector<std::string> ids;
  for (int i = 0; i < documents; ++i) {
    ids.push_back(fmt::format("{}:{}", i % 3 == 0 ? "p" : "q", 1000 + i));
    auto written = fixture.put(ids.back(), fmt::format(R"({{"n":{}}})", i));
    REQUIRE(written);
    for (int edit = 0; edit < i % 40; ++edit) {
      written = fixture.put(ids.back(), fmt::format(R"({{"n":{},"edit":{}}})", i, edit), written->revision);
      REQUIRE(written);
    }
    if (i % 4 == 0) REQUIRE(fixture.put(ids.back(), "{}", written->revision, true));
  }
  for (const auto* hash : {"aaa", "bbb", "ccc"}) {
    REQUIRE(fixture.replicate("p:conflict", fmt::format(R"({{"v":"{}"}})", hash), {rev(2, hash), rev(1, "x")}));
  }
  ids.emplace_back("p:conflict");
  REQUIRE(fixture.put("other:new", "{}"));  // stays as it is
  for (int i = 0; i < 20; ++i) {
    const auto written = fixture.put(long_id("q", i), "{}");
    REQUIRE(written);
    if (i % 5 == 0) REQUIRE(fixture.put(long_id("q", i), "{}", written->revision, true));
    ids.push_back(long_id("q", i));
  }
  for (const std::string& id : ids) octavo::tests::store_as_format_1(fixture, id);
  for (int i = 0; i < 20; ++i) use_old_form(fixture, PartitionTree::documents, long_id("q", i));
  for (const auto* key : {"p", "q"}) octavo::tests::store_logical_as_format_1(fixture, key);
}

CheckReport checked(PartitionFixture& fixture) {
  return check_partition(fixture.partition(), true).value();
}

bool is_marked(PartitionFixture& fixture) {
  const Snapshot snapshot = fixture.snapshot();
  return format_upgrade::is_marked(snapshot.transaction(), fixture.partition().store()).value();
}

}  // namespace

TEST_CASE("rows of format 1 are written again, and nothing else changes") {
  PartitionFixture fixture;
  fill_as_format_1(fixture, 120);
  const auto before = state_of(fixture);
  CHECK(checked(fixture).problems == std::vector<std::string>{});
  CHECK(checked(fixture).rows_of_format_1 > 300);
  CHECK_FALSE(is_marked(fixture));
  const int commits = fixture.commits();
  const Sequence last = fixture.snapshot().last_sequence().value();

  StorePreparation preparation;
  REQUIRE(fixture.partition().upgrade_rows(preparation));
  CHECK(preparation.rows_done() >= 140);
  CHECK(preparation.rows_expected() > 0);
  CHECK(is_marked(fixture));
  CHECK(checked(fixture).problems == std::vector<std::string>{});
  CHECK(checked(fixture).rows_of_format_1 == 0);
  CHECK(state_of(fixture) == before);
  CHECK(fixture.snapshot().last_sequence().value() == last);
  CHECK(fixture.commits() == commits);
  CHECK(count_rows(fixture.snapshot().transaction(), fixture.tree(PartitionTree::partitions)) == 0);
  CHECK(count_rows(fixture.snapshot().transaction(), fixture.tree(PartitionTree::revisions)) == 0);

  // And it is written as any other.
  const auto conflict = fixture.snapshot().find("p:conflict").value().value().revision;
  REQUIRE(fixture.put("p:conflict", R"({"v":"d"})", conflict));
  CHECK(fixture.is_sound());
}

TEST_CASE("an upgrade that is stopped at any step leaves a sound partition, and is continued") {
  PartitionFixture fixture;
  fill_as_format_1(fixture, 500);
  const auto before = state_of(fixture);
  std::uint64_t rows = checked(fixture).rows_of_format_1;
  int stops = 0;
  for (; rows > 0; ++stops) {
    REQUIRE(stops < 100);
    int calls = 0;
    StorePreparation preparation({.stopped = [&] { return ++calls > 2; }});
    REQUIRE(fixture.partition().upgrade_rows(preparation));
    CHECK(checked(fixture).problems == std::vector<std::string>{});
    const std::uint64_t rows_now = checked(fixture).rows_of_format_1;
    CHECK(rows_now <= rows);
    rows = rows_now;
    REQUIRE(state_of(fixture) == before);
    if (stops == 1) {
      const Sequence last = fixture.snapshot().last_sequence().value();  // the snapshot ends before the partition does
      fixture.open(last);
    }
  }
  CHECK(stops > 1);
}

TEST_CASE("a partition of the present format is known to have no old rows") {
  PartitionFixture fixture;
  REQUIRE(fixture.put("p:a", "{}"));
  CHECK(is_marked(fixture));
  Store& store = fixture.partition().store();
  const std::uint64_t before = store.last_transaction();
  StorePreparation preparation;
  REQUIRE(fixture.partition().upgrade_rows(preparation));
  CHECK(store.last_transaction() == before);
  CHECK(preparation.rows_expected() == 0);

  REQUIRE(store.write(
      0, [&](WriteTransaction& transaction) { return octavo::tests::erase_format_mark(fixture, transaction); }));
  REQUIRE(fixture.put("p:b", "{}"));
  CHECK_FALSE(is_marked(fixture));
  REQUIRE(fixture.partition().upgrade_rows(preparation));
  CHECK(is_marked(fixture));
  CHECK(fixture.is_sound());
}

TEST_CASE("a large logical partition, and unique keys, of format 1 move") {
  PartitionFixture fixture;
  fixture.partition().set_unique_keys(std::make_shared<UniqueMarkedBodies>());
  std::vector<DocumentWrite> writes;
  for (int i = 0; i < 2500; ++i) writes.push_back(PartitionFixture::make(fmt::format("large:{}", i), "{}"));
  for (const auto& written : fixture.write(std::move(writes))) REQUIRE(written);
  const auto one = fixture.put("p:1", R"({"u":1})").value();
  octavo::tests::store_logical_as_format_1(fixture, "large");
  octavo::tests::store_logical_as_format_1(fixture, "p");
  // Some of them have moved before.
  REQUIRE(fixture.put("large:new", "{}"));
  const auto before = state_of(fixture);
  StorePreparation preparation;
  REQUIRE(fixture.partition().upgrade_rows(preparation));
  CHECK(checked(fixture).rows_of_format_1 == 0);
  CHECK(state_of(fixture) == before);
  CHECK(fixture.is_sound());
  CHECK(fixture.put("p:2", R"({"u":1})").error().code == ErrorCode::unique_key_violated);
  REQUIRE(fixture.put("p:1", R"({"u":2})", one.revision));
  CHECK(fixture.put("p:2", R"({"u":1})"));
  CHECK(fixture.is_sound());
}

TEST_CASE("rows of long keys in their old form are written again in every tree") {
  PartitionFixture fixture;
  const std::string id = long_id("p", 1);
  for (const auto* hash : {"aaa", "bbb"}) {
    REQUIRE(fixture.replicate(id, fmt::format(R"({{"v":"{}"}})", hash), {rev(2, hash), rev(1, "x")}));
  }
  REQUIRE(fixture.put("p:gone", "{}"));
  const auto gone = fixture.put(long_id("p", 2), "{}");
  REQUIRE(fixture.put(long_id("p", 2), "{}", gone->revision, true));
  const auto before = state_of(fixture);
  use_old_form(fixture, PartitionTree::documents, id);
  use_old_form(fixture, PartitionTree::tombstones, long_id("p", 2));
  use_old_form(fixture, PartitionTree::leaves, leaf_key(id, rev(2, "aaa")));
  const std::string index_key(700, 'i');
  REQUIRE(fixture.partition().store().write(0, [&](WriteTransaction& transaction) {
    return octavo::tests::put_digest_row(transaction, fixture.tree(PartitionTree::index), index_key, "entry");
  }));
  CHECK(checked(fixture).rows_of_format_1 == 4);
  StorePreparation preparation;
  REQUIRE(fixture.partition().upgrade_rows(preparation));
  CHECK(checked(fixture).rows_of_format_1 == 0);
  CHECK(state_of(fixture) == before);
  CHECK(fixture.is_sound());
  const Snapshot snapshot = fixture.snapshot();
  const auto entry = long_key::get(snapshot.transaction(), fixture.tree(PartitionTree::index), index_key).value();
  CHECK(entry == "entry");
}

TEST_CASE("a row of format 1 that names no change goes, and a damaged one ends the upgrade") {
  PartitionFixture fixture;
  REQUIRE(fixture.put("p:a", "{}"));
  REQUIRE(fixture.put("q:b", "{}"));
  octavo::tests::store_logical_as_format_1(fixture, "p");
  const auto put_sequence = [&](Sequence sequence) {
    REQUIRE(fixture.partition().store().write(0, [&](WriteTransaction& transaction) -> Expected<void> {
      OCTAVO_TRY_VOID(octavo::tests::erase_format_mark(fixture, transaction));
      std::string key = partition_feed_prefix("p");
      append_key_u64(key, sequence);
      return transaction.put(fixture.tree(PartitionTree::partitions), key, {});
    }));
  };
  put_sequence(1000);
  StorePreparation preparation;
  REQUIRE(fixture.partition().upgrade_rows(preparation));
  CHECK(fixture.is_sound());
  CHECK(is_marked(fixture));
  put_sequence(fixture.snapshot().find("q:b").value().value().sequence);
  const auto damaged = fixture.partition().upgrade_rows(preparation);
  REQUIRE_FALSE(damaged);
  CHECK(damaged.error().code == ErrorCode::corrupted);
  CHECK_FALSE(is_marked(fixture));
}

TEST_CASE("an upgrade during which any one call fails changes nothing that readers see, and is continued") {
  PartitionFixture source;
  fill_as_format_1(source, 10);
  const auto before = state_of(source);
  struct Case {
    FaultPlan::Fault fault;
    std::optional<ErrorCode> code;  ///< nullopt: it need not notice
    std::size_t stride = 1;
  };
  using At = StorageCall;
  const std::vector<Case> cases{
      {{.code = EIO}, ErrorCode::io_failure},
      {{.code = ENOSPC}, ErrorCode::disk_full, 7},
      {{.code = FaultPlan::no_memory}, ErrorCode::overloaded, 5},
      {{.code = fault_code::too_many_readers, .calls = {At::begin_read}}, ErrorCode::overloaded},
      {{.code = EIO, .calls = {At::commit}, .panics = true}, ErrorCode::io_failure},
      {{.code = EIO, .calls = {At::commit}, .took_place = true, .panics = true}, ErrorCode::io_failure},
      {{.code = fault_code::must_grow, .calls = {At::put, At::erase, At::commit}}, std::nullopt, 3},
  };
  for (const Case& one : cases) {
    for (std::size_t n = 1;; n += one.stride) {
      CAPTURE(one.fault.code, one.fault.took_place, one.fault.panics, n);
      FaultPlan faults;
      PartitionFixture fixture({.folder = {}, .faults = &faults}, source);
      FaultPlan::Fault fault = one.fault;
      fault.from = n;
      faults.plan(fault);
      StorePreparation preparation;
      const auto upgraded = fixture.partition().upgrade_rows(preparation);
      const bool has_failed = faults.fired() > 0;
      faults.heal();
      CHECK(upgraded.has_value() == (!has_failed || !one.code));
      if (!upgraded) {
        CHECK(upgraded.error().code == one.code);
        CHECK(state_of(fixture) == before);
        CHECK(checked(fixture).problems == std::vector<std::string>{});
        REQUIRE(fixture.partition().upgrade_rows(preparation));
      }
      CHECK(is_marked(fixture));
      for (int opened = 0; opened < 2; ++opened) {
        CHECK(state_of(fixture) == before);
        CHECK(checked(fixture).problems == std::vector<std::string>{});
        CHECK(checked(fixture).rows_of_format_1 == 0);
        const Sequence last = fixture.snapshot().last_sequence().value();
        fixture.open(last);
      }
      if (!has_failed) {
        CHECK(n > 1);
        break;
      }
    }
  }
}

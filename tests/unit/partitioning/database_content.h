// What the tests of splits and merges look at.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "partitioning/scan.h"
#include "storage/partition/partition_check.h"
#include "support/engine_fixture.h"

namespace octavo::tests::content {

using partitioning::Database;
using partitioning::DocumentScan;
using partitioning::FeedScan;
using partitioning::ScanBudget;
using partitioning::ScanState;
using partitioning::Visit;

struct Row {
  storage::Sequence sequence;
  std::string revision;
  bool deleted;
  std::string body;
  bool operator==(const Row&) const = default;
};

inline std::string text_of(const storage::Revision& revision) {
  std::string text;
  revision.append_to(text);
  return text;
}

/// Everything that readers can see of the documents. A listing has the live ones; the feed names those that are
/// deleted.
inline std::map<std::string, Row> documents_of(Database& database) {
  std::map<std::string, Row> rows;
  const auto add = [&](const storage::DocumentView& document) {
    rows[std::string(document.id)] = {document.sequence, text_of(document.revision), document.deleted,
                                      std::string(document.body)};
    return Visit::next;
  };
  DocumentScan scan(database, {});
  for (ScanState state = ScanState::more; state == ScanState::more;) {
    state = scan.run(ScanBudget{}, [&](const auto& document, const auto&) { return add(document); }).value();
  }
  FeedScan changes(database, {});
  for (ScanState state = ScanState::more; state == ScanState::more;) {
    state = changes
                .run(ScanBudget{},
                     [&](const storage::FeedRow& row, const storage::Snapshot& snapshot) {
                       return row.deleted ? add(snapshot.find(row.id).value().value()) : Visit::next;
                     })
                .value();
  }
  return rows;
}

inline std::vector<std::string> feed_of(Database& database) {
  std::vector<std::string> ids;
  FeedScan scan(database, {});
  ScanState state = ScanState::more;
  while (state == ScanState::more) {
    state = scan.run(ScanBudget{},
                     [&](const storage::FeedRow& row, const storage::Snapshot&) {
                       ids.emplace_back(row.id);
                       return Visit::next;
                     })
                .value();
  }
  return ids;
}

inline void check_sound(Database& database) {
  for (const std::size_t partition_id : database.partition_ids()) {
    const auto report = storage::check_partition(database.physical_partition(partition_id), database.partitioned());
    REQUIRE(report.has_value());
    for (const auto& problem : report->problems) FAIL_CHECK(problem);
  }
}

inline std::string key_of(int number) {
  return "key" + std::to_string(number % 40) + ":" + std::to_string(number);
}

inline void remove(Database& database, int number) {
  const auto found = database.snapshot_for_document(key_of(number)).value().find(key_of(number)).value();
  EngineFixture::put(database, key_of(number), "{}", found->revision, true);
}

inline void fill(Database& database, int count) {
  for (int i = 0; i < count; ++i) EngineFixture::put(database, key_of(i), R"({"n":)" + std::to_string(i) + "}");
}

}  // namespace octavo::tests::content

#include "query/index/index_allowance.h"

#include "query/design/design_scan.h"
#include "query/index/feed_index_kind.h"
#include "query/index/index_definition.h"

namespace octavo::query {

IndexAllowance::Count IndexAllowance::count(std::string_view id, std::string_view body) const {
  Count count;
  if (const auto definitions = definitions_from_design_document(id, body, partitioned_)) {
    count.json = definitions->size();
  }
  for (const auto& kind : feed_index_kinds()) count.feed += kind.read(id, {}, body, partitioned_).size();
  return count;
}

Expected<IndexAllowance> IndexAllowance::read(partitioning::Database& database) {
  IndexAllowance allowance(database.partitioned());
  OCTAVO_TRY_VOID(for_each_design_document(database, [&](const storage::DocumentView& document) {
    const auto count = allowance.count(document.id, document.body);
    if (count.json + count.feed == 0) return;
    allowance.total_.json += count.json;
    allowance.total_.feed += count.feed;
    allowance.by_document_.emplace(document.id, count);
  }));
  return allowance;
}

Expected<void> IndexAllowance::take(std::string_view id, std::string_view body) {
  const auto known = by_document_.find(id);
  const Count before = known == by_document_.end() ? Count{} : known->second;
  const Count after = count(id, body);
  const Count total{.json = total_.json - before.json + after.json, .feed = total_.feed - before.feed + after.feed};
  if (after.json > before.json && total.json > indexes_per_database_max) {
    return fail(ErrorCode::forbidden,
                "A database can have at most " + std::to_string(indexes_per_database_max) +
                    " JSON indexes; this design document would make it " + std::to_string(total.json) +
                    ". Delete those that are not used, or put fields that are asked for together into one index.");
  }
  if (after.feed > before.feed && total.feed > feed_indexes_per_database_max) {
    return fail(ErrorCode::forbidden,
                "A database can have at most " + std::to_string(feed_indexes_per_database_max) +
                    " design documents with views and search indexes; this one would make it " +
                    std::to_string(total.feed) +
                    ". Delete those that are not used, or put several views into one design document.");
  }
  total_ = total;
  by_document_.insert_or_assign(std::string(id), after);
  return {};
}

}  // namespace octavo::query

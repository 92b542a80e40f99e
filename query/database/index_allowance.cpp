#include "query/database/index_allowance.h"

#include <utility>

#include "query/database/database_services.h"
#include "query/database/feed_index_kinds.h"
#include "query/design/design_scan.h"
#include "query/index/index_definition.h"

namespace octavo::query {

IndexAllowance::IndexAllowance(partitioning::Database& database, const DatabaseServices* services)
    : database_(database) {
  if (services == nullptr) return;
  const auto json = services->indexes().last_catalog();
  const auto feed = services->feed_indexes().last_catalog();
  is_known_ = json != nullptr && feed != nullptr;
  if (is_known_) total_ = {.json = json->indexes.size(), .feed = feed->indexes.size()};
}

bool IndexAllowance::is_far_from_limit(const Count& more) const {
  constexpr std::size_t written_since = 100;  // the last count may be outdated by this many
  return is_known_ && total_.json + more.json + written_since <= indexes_per_database_max &&
         total_.feed + more.feed + written_since <= feed_indexes_per_database_max;
}

IndexAllowance::Count IndexAllowance::count(std::string_view id, std::string_view body) const {
  Count count;
  if (const auto definitions = definitions_from_design_document(id, body, database_.partitioned())) {
    count.json = definitions->size();
  }
  for (const auto& kind : feed_index_kinds()) {
    for (const auto& definition : kind.read(id, {}, body, database_.partitioned())) {
      if (!definition.on_demand) ++count.feed;
    }
  }
  return count;
}

Expected<void> IndexAllowance::read_all() {
  // Documents taken earlier in this request are counted separately.
  const auto taken = std::exchange(by_document_, {});
  total_ = {};
  OCTAVO_TRY_VOID(for_each_design_document(database_, [&](const storage::DocumentView& document) {
    if (taken.contains(document.id)) return;
    const auto found = count(document.id, document.body);
    if (found.json + found.feed == 0) return;
    total_.json += found.json;
    total_.feed += found.feed;
    by_document_.emplace(document.id, found);
  }));
  for (const auto& [id, found] : taken) {
    total_.json += found.json;
    total_.feed += found.feed;
    by_document_.emplace(id, found);
  }
  is_counted_ = true;
  return {};
}

Expected<void> IndexAllowance::take(std::string_view id, std::string_view body) {
  const Count after = count(id, body);
  if (!is_counted_ && !is_far_from_limit(after)) OCTAVO_TRY_VOID(read_all());
  const auto known = by_document_.find(id);
  const Count before = known == by_document_.end() ? Count{} : known->second;
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

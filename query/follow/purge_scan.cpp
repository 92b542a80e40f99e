#include "query/follow/purge_scan.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::query {

Expected<bool> PurgeScan::run(NextIds next_ids, std::uint64_t known, const GoneDocuments& gone,
                              std::size_t documents_max, Remove remove) {
  OCTAVO_ASSERT(documents_max > 0);  // otherwise it never ends
  if (!start_) start_ = Start{gone.purge_count, gone.watermark};
  OCTAVO_TRY(const auto ids, next_ids(last_, documents_max));
  std::vector<std::string> found;
  for (const std::string& id : ids) {
    OCTAVO_TRY(const bool is_gone_now, gone.is_gone(id));
    if (is_gone_now) found.push_back(id);
  }
  const bool end = ids.size() < documents_max;
  if (!found.empty() || end) OCTAVO_TRY_VOID(remove(std::move(found), end ? start_->purge_count : known));
  last_ = end ? std::string() : ids.back();
  if (end) {
    scanned_through_ = std::max(scanned_through_, start_->watermark);
    start_.reset();
  }
  return end;
}

Expected<bool> PurgeScan::run(storage::Store& store, storage::Tree by_document, std::uint64_t known,
                              const GoneDocuments& gone, std::size_t documents_max, Remove remove) {
  const auto next_ids = [&](std::string_view after, std::size_t count_max) -> Expected<std::vector<std::string>> {
    OCTAVO_TRY(const storage::ReadTransaction transaction, store.read());
    std::vector<std::string> ids;
    storage::LongKeyCursor cursor(transaction, by_document);
    for (auto row = cursor.seek(after); row && ids.size() < count_max; row = cursor.next()) {
      if (after.empty() || row->key != after) ids.emplace_back(row->key);
    }
    return ids;
  };
  return run(next_ids, known, gone, documents_max, remove);
}

}  // namespace octavo::query

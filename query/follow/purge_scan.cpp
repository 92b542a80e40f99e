#include "query/follow/purge_scan.h"

#include <utility>

#include "base/assert.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::query {

Expected<bool> PurgeScan::run(storage::Store& store, storage::Tree by_document, std::uint64_t known,
                              std::uint64_t purge_count, std::size_t documents_max, IsGone is_gone, Remove remove) {
  OCTAVO_ASSERT(documents_max > 0);  // otherwise it never ends
  if (!count_at_start_) count_at_start_ = purge_count;
  std::vector<std::string> gone;
  std::string last = last_;
  bool end = false;
  {
    OCTAVO_TRY(const storage::ReadTransaction transaction, store.read());
    storage::LongKeyCursor cursor(transaction, by_document);
    auto row = cursor.seek(last_);
    if (row && !last_.empty() && row->key == last_) row = cursor.next();
    for (std::size_t seen = 0; row && seen < documents_max; ++seen, row = cursor.next()) {
      last = row->key;
      OCTAVO_TRY(const bool is_gone_now, is_gone(row->key));
      if (is_gone_now) gone.emplace_back(row->key);
    }
    end = !row;
  }
  if (!gone.empty() || end) OCTAVO_TRY_VOID(remove(std::move(gone), end ? *count_at_start_ : known));
  last_ = end ? std::string() : std::move(last);
  if (end) count_at_start_.reset();
  return end;
}

}  // namespace octavo::query

#include "query/follow/purge_scan.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::query {

Expected<bool> PurgeScan::run(storage::Store& store, storage::Tree by_document, std::uint64_t known,
                              const GoneDocuments& gone, std::size_t documents_max, Remove remove) {
  OCTAVO_ASSERT(documents_max > 0);  // otherwise it never ends
  if (!start_) start_ = Start{gone.purge_count, gone.watermark};
  std::vector<std::string> found;
  std::string last = last_;
  bool end = false;
  {
    OCTAVO_TRY(const storage::ReadTransaction transaction, store.read());
    storage::LongKeyCursor cursor(transaction, by_document);
    auto row = cursor.seek(last_);
    if (row && !last_.empty() && row->key == last_) row = cursor.next();
    for (std::size_t seen = 0; row && seen < documents_max; ++seen, row = cursor.next()) {
      last = row->key;
      OCTAVO_TRY(const bool is_gone_now, gone.is_gone(row->key));
      if (is_gone_now) found.emplace_back(row->key);
    }
    end = !row;
  }
  if (!found.empty() || end) OCTAVO_TRY_VOID(remove(std::move(found), end ? start_->purge_count : known));
  last_ = end ? std::string() : std::move(last);
  if (end) {
    scanned_through_ = std::max(scanned_through_, start_->watermark);
    start_.reset();
  }
  return end;
}

}  // namespace octavo::query

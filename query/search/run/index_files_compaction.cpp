#include <algorithm>
#include <chrono>
#include <lucene++/LuceneHeaders.h>
#include <mutex>
#include <optional>
#include <thread>

#include "query/search/lucene/background_merges.h"
#include "query/search/lucene/lucene_guard.h"
#include "query/search/run/index_files.h"

/// The part of IndexFiles that returns the space of deleted documents.
namespace octavo::query::search {

namespace {

constexpr std::chrono::milliseconds merge_look{20};

}  // namespace

Expected<void> IndexFiles::compact(const std::function<bool()>& stopped) {
  const auto run = [&](Expected<bool> (IndexFiles::*step)()) -> Expected<bool> {
    const std::lock_guard lock(write_mutex_);
    if (merges_ && merges_->failed_for_good()) abandon_writer();
    auto done = guard_lucene(last_error_, [&] { return (this->*step)(); });
    if (!done) give_up(done.error());
    return done;
  };
  OCTAVO_TRY(bool is_done, run(&IndexFiles::begin_expunging));
  while (!is_done) {
    if (stopped()) return fail(ErrorCode::timeout, "The compaction was stopped.");
    std::this_thread::sleep_for(merge_look);
    OCTAVO_TRY(is_done, run(&IndexFiles::end_expunging));
  }
  return {};
}

// True: there is nothing to merge.
Expected<bool> IndexFiles::begin_expunging() {
  open_directory();
  if (!writer_ && !Lucene::IndexReader::indexExists(directory_)) return true;
  open_writer();
  // Deletions that are only in memory are not seen by the merge policy.
  if (uncommitted_changes_ > 0) commit();
  if (!writer_->hasDeletions()) return true;
  writer_->expungeDeletes(false);
  return false;
}

// Called again until no merge runs. After the commit no file of an old segment is named; a reader that has them open
// would still keep their space.
Expected<bool> IndexFiles::end_expunging() {
  if (!writer_) return true;  // closed, which ends the merges
  if (!merges_->idle()) return false;
  commit();
  const std::lock_guard lock(reader_mutex_);
  snapshot_.reset();
  return true;
}

std::optional<storage::Density> IndexFiles::density() {
  const std::unique_lock lock(write_mutex_, std::try_to_lock);
  if (!lock.owns_lock() || !writer_ || merges_->failed_for_good()) return std::nullopt;
  storage::Density density;
  const auto counted = guard_lucene(last_error_, [&]() -> Expected<void> {
    if (uncommitted_changes_ > 0 || committed_merges_ != merges_->merged()) commit();
    density.file_bytes = bytes_on_disk();
    density.dense_bytes = density.file_bytes;
    const int all = writer_->maxDoc();
    const int live = std::clamp(writer_->numDocs(), 0, all);
    if (all > 0) density.dense_bytes = density.file_bytes / static_cast<unsigned>(all) * static_cast<unsigned>(live);
    return {};
  });
  if (counted) return density;
  give_up(counted.error());
  return std::nullopt;
}

}  // namespace octavo::query::search

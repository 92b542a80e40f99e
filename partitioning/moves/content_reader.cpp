#include "partitioning/moves/content_reader.h"

#include <algorithm>
#include <optional>

#include "base/assert.h"
#include "storage/partition/snapshot.h"

namespace octavo::partitioning {

namespace {

constexpr std::size_t batch_bytes = 4ULL << 20;
constexpr std::size_t batch_rows = 5'000;
// If this little is left, the writes may wait for it.
constexpr std::size_t rest_rows_max = 500;

}  // namespace

/// A source while a batch is read.
struct ContentReader::Reading {
  Reading(const Source& of, storage::Snapshot taken, Progress& reached)
      : snapshot(std::move(taken)),
        reader(of.partition->store(), snapshot.transaction()),
        feed(snapshot.feed()),
        progress(reached),
        row(feed.seek(reached.position + 1)) {}
  const storage::Snapshot snapshot;
  const storage::CopyReader reader;
  storage::Snapshot::FeedCursor feed;
  Progress& progress;
  std::optional<storage::FeedRow> row;  ///< the next one
};

class ContentReader::Batch {
 public:
  Batch(const ContentReader& reader, Copies& copies) : reader_(reader), copies_(copies) {}

  bool is_full() const { return bytes_ >= batch_bytes || rows_ >= batch_rows; }
  std::size_t rows() const { return rows_; }
  Expected<void> add_document(std::string_view id, const storage::CopyReader& from) {
    OCTAVO_TRY(auto document, from.document(id));
    count(document.bytes());
    copy_of(id).documents.push_back(std::move(document));
    return {};
  }
  void add_local(storage::RowCopy row) {
    count(row.value.size());
    auto& locals = copy_of(row.id).local_documents;
    locals.push_back(std::move(row));
  }
  void add_version(storage::RowCopy row) {
    count(0);
    auto& versions = copy_of(row.id).versions;
    versions.push_back(std::move(row));
  }

 private:
  void count(std::size_t bytes) {
    bytes_ += bytes;
    ++rows_;
  }
  storage::PartitionCopy& copy_of(std::string_view id) { return copies_[reader_.target_of(reader_.position_of(id))]; }

  const ContentReader& reader_;
  Copies& copies_;
  std::size_t bytes_ = 0;
  std::size_t rows_ = 0;
};

ContentReader::ContentReader(std::vector<Source> sources, std::vector<HashPosition> target_ends, HashedBy hashed_by,
                             std::atomic<std::uint64_t>& copied)
    : sources_([&] {
        std::ranges::sort(sources, {}, &Source::last);
        return std::move(sources);
      }()),
      target_ends_(std::move(target_ends)),
      hashed_by_(hashed_by),
      copied_(copied),
      unfed_(std::make_shared<storage::UnfedChanges>()),
      progress_(sources_.size()) {
  OCTAVO_ASSERT(!sources_.empty() && !target_ends_.empty());
  for (const Source& source : sources_) source.partition->note_unfed(unfed_);
}

ContentReader::~ContentReader() {
  for (const Source& source : sources_) source.partition->note_unfed(nullptr);
}

HashPosition ContentReader::position_of(std::string_view id) const {
  return hash_position(id, hashed_by_.partitioned, hashed_by_.scheme);
}

std::size_t ContentReader::source_of(HashPosition position) const {
  const auto found = std::ranges::lower_bound(sources_, position, {}, &Source::last);
  return found == sources_.end() ? sources_.size() - 1 : static_cast<std::size_t>(found - sources_.begin());
}

std::size_t ContentReader::target_of(HashPosition position) const {
  const auto found = std::ranges::lower_bound(target_ends_, position);
  return found == target_ends_.end() ? target_ends_.size() - 1 : static_cast<std::size_t>(found - target_ends_.begin());
}

Expected<bool> ContentReader::read(Copies& copies) {
  // Takes the changes that are not in the feeds before the snapshots, which then show the result of all of them.
  auto unfed = unfed_->take();
  pending_.documents.merge(unfed.documents);
  pending_.local_documents.merge(unfed.local_documents);
  std::vector<std::unique_ptr<Reading>> readings;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    OCTAVO_TRY(auto snapshot, sources_[i].partition->snapshot());
    readings.push_back(std::make_unique<Reading>(sources_[i], std::move(snapshot), progress_[i]));
  }
  copies.resize(target_ends_.size());
  Batch batch(*this, copies);
  OCTAVO_TRY_VOID(read_unfed(readings, batch));
  for (const auto& reading : readings) read_locals(*reading, batch);
  OCTAVO_TRY(const bool has_rows, read_feeds(readings, batch));
  bool is_complete = !has_rows && std::ranges::all_of(progress_, &Progress::locals_copied);
  for (const auto& reading : readings) {
    if (batch.is_full()) is_complete = false;
    if (batch.is_full()) break;
    auto& after = reading->progress.versions_position;
    OCTAVO_TRY(auto versions, reading->reader.versions_after(after, batch_bytes, after));
    if (!versions.empty()) is_complete = false;
    for (auto& version : versions) batch.add_version(std::move(version));
  }
  rows_read_ += batch.rows();
  return is_complete && batch.rows() <= rest_rows_max;
}

Expected<void> ContentReader::read_unfed(std::vector<std::unique_ptr<Reading>>& readings, Batch& batch) {
  auto& documents = pending_.documents;
  for (; !documents.empty() && !batch.is_full(); documents.erase(documents.begin())) {
    const std::string& id = *documents.begin();
    OCTAVO_TRY_VOID(batch.add_document(id, readings[source_of(position_of(id))]->reader));
  }
  auto& locals = pending_.local_documents;
  for (; !locals.empty() && !batch.is_full(); locals.erase(locals.begin())) {
    const std::string& id = *locals.begin();
    OCTAVO_TRY(auto local, readings[source_of(position_of(id))]->reader.local_document(id));
    batch.add_local(std::move(local));
  }
  return {};
}

void ContentReader::read_locals(Reading& reading, Batch& batch) {
  Progress& progress = reading.progress;
  if (progress.locals_copied || batch.is_full()) return;
  auto locals = reading.reader.local_documents_after(progress.local_position, batch_bytes);
  progress.locals_copied = locals.empty();
  if (!locals.empty()) progress.local_position = locals.back().id;
  for (auto& local : locals) batch.add_local(std::move(local));
}

// In the order of the sequences of all sources, so that the rows of the new feeds are appended. True: there are more.
Expected<bool> ContentReader::read_feeds(std::vector<std::unique_ptr<Reading>>& readings, Batch& batch) {
  while (!batch.is_full()) {
    Reading* next = nullptr;
    for (const auto& one : readings) {
      if (one->row && (next == nullptr || one->row->sequence < next->row->sequence)) next = one.get();
    }
    if (next == nullptr) return false;
    next->progress.position = next->row->sequence;
    OCTAVO_TRY_VOID(batch.add_document(next->row->id, next->reader));
    copied_.fetch_add(1, std::memory_order_relaxed);
    next->row = next->feed.next();
  }
  return true;
}

Expected<ContentReader::Copies> ContentReader::read_ends() const {
  storage::PartitionCopy::End end;
  for (const Source& source : sources_) {
    OCTAVO_TRY(const auto snapshot, source.partition->snapshot());
    OCTAVO_TRY(const storage::PartitionCounters counters, snapshot.counters());
    end.last_sequence = std::max(end.last_sequence, counters.last_sequence);
    end.purge_count += counters.purge_count;
    end.dropped_through = std::max(end.dropped_through, counters.dropped_through);
    if (source.partition->keeps_versions()) {
      OCTAVO_TRY(const storage::Sequence since, snapshot.versions_since());
      end.versions_since = std::max(end.versions_since.value_or(0), since);
    }
  }
  Copies last(target_ends_.size());
  for (storage::PartitionCopy& copy : last) {
    copy.end = end;
    end.purge_count = 0;  // the database sums the purges of all its partitions
  }
  return last;
}

}  // namespace octavo::partitioning

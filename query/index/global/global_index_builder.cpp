#include "query/index/global/global_index_builder.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "query/index/index_entry.h"

namespace octavo::query {

namespace {

constexpr std::size_t scan_rows_max = 8192;
// For all indexes of a build together; beyond this, entries are sorted on disk.
constexpr std::size_t build_sort_bytes_max = 64ULL << 20;
// Size of one transaction while appending; also limits how long a slice occupies the worker.
constexpr std::size_t append_bytes_max = 8ULL << 20;

struct DocumentKey {
  std::string id;
  std::string key;
};

}  // namespace

struct GlobalIndexBuilder::Target {
  Target(std::shared_ptr<GlobalIndex> target_index, std::size_t buffer_bytes)
      : index(std::move(target_index)), runs(index->folder(), buffer_bytes) {}

  std::shared_ptr<GlobalIndex> index;
  SortedRuns runs;
  std::vector<DocumentKey> documents;  ///< rows of by_document, in the order of the scan, by id
  std::size_t documents_bytes = 0;
  std::uint64_t merged = 0;
  bool finished = false;
  ActiveTasks::Handle task;
};

GlobalIndexBuilder::GlobalIndexBuilder(partitioning::Database& database,
                                       std::vector<std::shared_ptr<GlobalIndex>> indexes, ActiveTasks* tasks)
    : database_(database), indexes_(std::move(indexes)), tasks_(tasks) {}

GlobalIndexBuilder::~GlobalIndexBuilder() = default;

Expected<void> GlobalIndexBuilder::begin() {
  // The watermark before the purge count, so that every purge up to the checkpoint is counted.
  checkpoint_ = database_.watermark();
  OCTAVO_TRY(purge_count_, database_.purge_count());
  OCTAVO_TRY(const auto statistics, database_.statistics());
  documents_total_ = statistics.document_count;
  for (const auto& index : indexes_) {
    OCTAVO_TRY_VOID(index->begin_build());
    auto target = std::make_unique<Target>(index, build_sort_bytes_max / indexes_.size());
    if (tasks_) {
      ActiveTask task;
      task.type = "indexer";
      task.database = database_.name();
      task.design_document = index->definition().design_document;
      task.index = index->definition().name;
      task.phase = "scan";
      target->task = tasks_->start(std::move(task));
    }
    targets_.push_back(std::move(target));
  }
  partitioning::DocumentRange all;
  all.as_stored = true;
  scan_ = std::make_unique<partitioning::DocumentScan>(database_, std::move(all));
  return {};
}

Expected<GlobalIndexBuilder::State> GlobalIndexBuilder::run() {
  if (!scan_) OCTAVO_TRY_VOID(begin());
  if (!scanned_) {
    OCTAVO_TRY_VOID(scan_slice());
    return State::more;
  }
  for (const auto& target : targets_) {
    if (target->finished) continue;
    OCTAVO_TRY(const bool end, merge_slice(*target));
    if (end) {
      OCTAVO_TRY_VOID(database_.make_durable());
      OCTAVO_TRY_VOID(target->index->end_build(checkpoint_, purge_count_, target->merged));
      target->finished = true;
      target->task = {};
    }
    return State::more;
  }
  return State::done;
}

Expected<void> GlobalIndexBuilder::scan_slice() {
  std::optional<Error> failure;
  std::string key, value;
  const auto visit = [&](const storage::DocumentRecord& document, const storage::Snapshot&) {
    ++documents_done_;
    if (document.deleted || storage::is_design_id(document.id)) return partitioning::Visit::next;
    const auto body = document.body.open(body_);
    if (!body) return partitioning::Visit::next;  // damaged: cannot be found by its values
    const auto root = parser_.parse(*body);
    if (!root) return partitioning::Visit::next;
    const IndexedDocument indexed{*root, *body, document.id, document.revision};
    for (const auto& target : targets_) {
      key.clear();
      value.clear();
      if (!append_index_entry(target->index->definition(), indexed, key, value)) continue;
      OCTAVO_ASSERT(key.ends_with(document.id));
      target->runs.add(key, value);
      target->documents.push_back({std::string(document.id), key.substr(0, key.size() - document.id.size())});
      target->documents_bytes += key.size() + sizeof(DocumentKey);
      if (target->runs.full() || target->documents_bytes >= append_bytes_max) {
        if (auto flushed = flush(*target); !flushed) {
          failure = flushed.error();
          return partitioning::Visit::stop;
        }
      }
    }
    return partitioning::Visit::next;
  };
  const auto state = scan_->run_records({scan_rows_max}, visit);
  if (!state) return std::unexpected(state.error());
  if (failure) return std::unexpected(*std::move(failure));
  for (const auto& target : targets_) target->task.report(documents_done_, 2 * documents_total_);
  if (*state == partitioning::ScanState::more) return {};
  for (const auto& target : targets_) {
    OCTAVO_TRY_VOID(flush(*target));
    OCTAVO_TRY_VOID(target->runs.finish());
    target->task.enter_phase("sort");
  }
  scanned_ = true;
  return {};
}

Expected<void> GlobalIndexBuilder::flush(Target& target) {
  if (target.runs.full()) OCTAVO_TRY_VOID(target.runs.spill());
  if (target.documents.empty()) return {};
  const auto written =
      target.index->write(2 * target.documents_bytes, [&](storage::WriteTransaction& transaction) -> Expected<void> {
        for (const auto& document : target.documents) {
          OCTAVO_TRY_VOID(append_sorted(transaction, target.index->by_document(), document.id, document.key));
        }
        return {};
      });
  if (!written) return written;
  target.documents.clear();
  target.documents_bytes = 0;
  return {};
}

Expected<bool> GlobalIndexBuilder::merge_slice(Target& target) {
  OCTAVO_ASSERT(scanned_ && !target.finished);
  // Copies the rows out of the merge first, as the transaction may have to run twice.
  std::vector<std::pair<std::string, std::string>> rows;
  std::size_t bytes = 0;
  bool end = false;
  while (bytes < append_bytes_max) {
    const auto row = target.runs.next();
    if (!row) {
      if (target.runs.error()) return std::unexpected(*target.runs.error());
      end = true;
      break;
    }
    bytes += row->key.size() + row->value.size() + 64;
    rows.emplace_back(row->key, row->value);
  }
  const auto written = target.index->write(2 * bytes, [&](storage::WriteTransaction& transaction) -> Expected<void> {
    for (const auto& [key, value] : rows) {
      OCTAVO_TRY_VOID(append_sorted(transaction, target.index->entries(), key, value));
    }
    return {};
  });
  if (!written) return std::unexpected(written.error());
  target.merged += rows.size();
  OCTAVO_ASSERT(target.merged <= target.runs.row_count());
  const std::uint64_t share =
      target.runs.row_count() == 0 ? 0 : documents_total_ * target.merged / target.runs.row_count();
  target.task.report(documents_total_ + share, 2 * documents_total_);
  return end;
}

}  // namespace octavo::query

// A physical partition's part in a split or a merge: it takes over content from others, or hands its own over.
#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/assert.h"
#include "base/folder.h"
#include "base/memory_retry.h"
#include "storage/lmdb/long_key_tree.h"
#include "storage/logs/version_log.h"
#include "storage/partition/document_copy.h"
#include "storage/partition/document_observer.h"
#include "storage/partition/document_writer.h"
#include "storage/partition/physical_partition.h"
#include "storage/partition/unfed_changes.h"
#include "storage/partition/write_successor.h"

namespace octavo::storage {

void PhysicalPartition::note_unfed(std::shared_ptr<UnfedChanges> changes) {
  const std::lock_guard lock(queue_mutex_);
  unfed_ = std::move(changes);
}

Expected<void> DocumentWriter::adopt(const DocumentCopy& copy) {
  OCTAVO_TRY(Before before, load(copy.id));
  return take_over(copy, copy.sequence, std::move(before));
}

Expected<Refusal> DocumentWriter::adopt_as_new(const DocumentCopy& copy) {
  OCTAVO_ASSERT(copy.exists);
  OCTAVO_TRY(Before before, load(copy.id));
  const DocumentRecord& there = before.document;
  if (before.exists && there.revision == copy.revision && there.modified_s == copy.modified_s && !there.has_conflicts &&
      !copy.has_conflicts && there.ancestry == copy.ancestry && there.body.bytes() == copy.body.view().bytes()) {
    return std::nullopt;
  }
  if (!copy.deleted) {
    OCTAVO_TRY(auto quota, check_quota(copy.partition_key, copy.body.view().size(), before));
    if (quota) return quota;
    if (environment_.unique_keys != nullptr) {
      OCTAVO_TRY(const std::string_view json, copy.body.view().open(new_json_));
      OCTAVO_TRY(auto unique, check_unique(copy.id, copy.partition_key, json));
      if (unique) return unique;
    }
  }
  OCTAVO_TRY_VOID(take_over(copy, environment_.sequences.next(environment_.partition_id), std::move(before)));
  return std::nullopt;
}

// `sequence`: of the document from now on.
Expected<void> DocumentWriter::take_over(const DocumentCopy& copy, Sequence sequence, Before before) {
  OCTAVO_ASSERT(!copy.exists || !copy.id.empty());  // a purge may name an id that no document can have
  OCTAVO_ASSERT(copy.partition_key.empty() || in_logical_partition(copy.id, copy.partition_key));
  OCTAVO_ASSERT(copy.leaves.empty() || copy.has_conflicts);
  OCTAVO_ASSERT(copy.exists || (copy.body.view().size() == StoredBody().size() && copy.histories.empty()));
  if (!before.exists && !copy.exists) return {};
  if (is_design_id(copy.id)) design_documents_changed_ = true;
  DocumentChange change;
  change.id = copy.id;
  change.partition_key = copy.partition_key;
  if (before.exists) {
    if (reads_bodies_) OCTAVO_TRY_VOID(open_body(before));
    if (before.document.has_conflicts) OCTAVO_TRY_VOID(read_tree(before));
    OCTAVO_TRY_VOID(remove_all(copy.id, before));
    OCTAVO_TRY_VOID(move_in_feed(copy.partition_key, before, nullptr));
    if (!before.document.deleted) {
      change.before = before.json;
      change.before_revision = before.document.revision;
    }
  }
  DocumentRecord document;
  std::optional<DocumentView> stored;  // if bodies are read
  if (copy.exists) {
    document.id = copy.id;
    document.revision = copy.revision;
    document.sequence = sequence;
    document.modified_s = copy.modified_s;
    document.deleted = copy.deleted;
    document.has_conflicts = copy.has_conflicts;
    document.owner = copy.owner;
    document.ancestry = copy.ancestry;
    document.body = copy.body.view();
    record_.clear();
    encode_document(record_, document);
    OCTAVO_TRY_VOID(rows_.put(copy.id, record_, copy.deleted, std::nullopt));
    for (const auto& [key, value] : copy.histories) {
      OCTAVO_TRY_VOID(long_key::put(transaction_, tree(PartitionTree::histories), key, value));
    }
    for (const auto& [key, value] : copy.leaves) {
      OCTAVO_TRY_VOID(long_key::put(transaction_, tree(PartitionTree::leaves), key, value));
    }
    record_.clear();
    encode_feed_row(record_, {sequence, copy.id, copy.revision, copy.deleted, copy.has_conflicts});
    std::string key;
    append_key_u64(key, sequence);
    const bool newest = sequence > counters_.last_sequence;
    OCTAVO_TRY_VOID(newest ? transaction_.append(tree(PartitionTree::feed), key, record_)
                           : transaction_.put(tree(PartitionTree::feed), key, record_));
    if (!copy.partition_key.empty()) {
      OCTAVO_TRY(logical_rows::Partition * partition, logical_partition(copy.partition_key));
      OCTAVO_TRY_VOID(logical_rows::insert(transaction_, logical_trees(), copy.partition_key, *partition, sequence));
    }
    counters_.last_sequence = std::max(counters_.last_sequence, sequence);
    if (reads_bodies_) {
      OCTAVO_TRY(const std::string_view json, document.body.open(new_json_));
      stored = DocumentView{document, json};
      if (!copy.deleted) {
        change.after = json;
        change.after_revision = copy.revision;
      }
    }
  }
  OCTAVO_TRY_VOID(count(copy.id, copy.partition_key, before, copy.exists ? &document : nullptr));
  OCTAVO_TRY_VOID(schedule_expiration(before, stored ? &*stored : nullptr));
  OCTAVO_TRY_VOID(move_unique(change, true));
  if (!is_observed_ || (!change.before && !change.after)) return {};
  if (!copy.partition_key.empty()) {
    OCTAVO_TRY(const logical_rows::Partition* partition, logical_partition(copy.partition_key));
    change.partition_documents = partition->record.statistics.document_count;
  }
  OCTAVO_TRY_VOID(environment_.observer->document_changed(transaction_, tree(PartitionTree::index), change));
  return {};
}

void DocumentWriter::adopt_counters(Sequence last_sequence, std::uint64_t purge_count, Sequence dropped_through) {
  counters_.last_sequence = last_sequence;
  counters_.purge_count = purge_count;
  counters_.dropped_through = dropped_through;
}

// Runs outside the groups of writes: adopted documents have their sequences already, and must not hold back the feed.
void PhysicalPartition::adopt(PartitionCopy copy, std::move_only_function<void(Expected<void>)> done) {
  auto adopt_all = [this, copy = std::move(copy)](WriteTransaction& transaction, Tree) -> Expected<void> {
    const std::shared_ptr<DocumentObserver> watching = observer();
    // The copies have their own times and versions, and were within the limits when they were written.
    DocumentWriter writer(transaction, {.trees = *store_,
                                        .sequences = *sequences_,
                                        .partition_id = options_.partition_id,
                                        .observer = watching.get(),
                                        .unique_keys = unique_keys_.get(),
                                        .expiry = expiry()});
    OCTAVO_TRY_VOID(writer.begin());
    for (const DocumentCopy& document : copy.documents) OCTAVO_TRY_VOID(writer.adopt(document));
    const Tree local = store_->tree(static_cast<std::size_t>(PartitionTree::local));
    for (const RowCopy& row : copy.local_documents) {
      if (row.value.empty()) {
        OCTAVO_TRY_VOID(long_key::erase(transaction, local, row.key));
      } else {
        OCTAVO_TRY_VOID(long_key::put(transaction, local, row.key, row.value));
      }
    }
    const Tree meta = store_->tree(static_cast<std::size_t>(PartitionTree::meta));
    for (const RowCopy& row : copy.versions) OCTAVO_TRY_VOID(transaction.put(meta, row.key, row.value));
    if (copy.end) {
      writer.adopt_counters(copy.end->last_sequence, copy.end->purge_count, copy.end->dropped_through);
      if (copy.end->versions_since) {
        OCTAVO_TRY_VOID(VersionLog::take_over(transaction, meta, *copy.end->versions_since, copy.end->last_sequence));
      }
    }
    return writer.finish();
  };
  run_index_task(std::move(adopt_all), std::move(done));
}

void PhysicalPartition::seal(std::move_only_function<void(Expected<void>)> done) {
  enqueue({SealJob{std::move(done)}, 0});
}

void PhysicalPartition::unseal() {
  {
    const std::lock_guard lock(queue_mutex_);
    if (!std::exchange(sealed_, false)) return;
    scheduled_ = !queue_.empty();
    if (!scheduled_) return;
  }
  writers_.schedule(shared_from_this());
}

void PhysicalPartition::hand_over(std::shared_ptr<WriteSuccessor> successor) {
  OCTAVO_ASSERT(successor != nullptr);
  std::deque<Job> waiting;
  WriteSuccessor& next = *successor;  // kept permanently
  {
    const std::lock_guard lock(queue_mutex_);
    OCTAVO_ASSERT(sealed_ && successor_ == nullptr);
    successor_ = std::move(successor);
    waiting.swap(queue_);
    unfed_.reset();
  }
  for (Job& job : waiting) {
    release(job.bytes);  // first, as the successor counts them, too
    forward(std::move(job), next);
  }
}

void PhysicalPartition::forward(Job job, WriteSuccessor& successor) {
  if (auto* documents = std::get_if<DocumentsJob>(&job.work)) {
    successor.write(std::move(documents->writes), documents->options, std::move(documents->done));
  } else if (auto* local = std::get_if<LocalJob>(&job.work)) {
    successor.write_local(std::move(local->write), std::move(local->done));
  } else if (auto* purge = std::get_if<PurgeJob>(&job.work)) {
    successor.purge(std::move(purge->requests), std::move(purge->done));
  } else if (auto* transaction = std::get_if<TransactionJob>(&job.work);
             transaction != nullptr && !transaction->partition_key.empty()) {
    successor.run_transaction(std::move(transaction->task), std::move(transaction->partition_key), job.bytes,
                              std::move(transaction->done));
  } else {
    std::optional<Expected<void>> refusal;
    until_memory_suffices([&] { refusal = was_split(); });
    complete(job, *refusal);
  }
}

bool PhysicalPartition::discard() {
  discarded_.store(true, std::memory_order_relaxed);
  if (!store_->close_if_idle()) return false;
  std::error_code ignored;  // remaining files are removed when the database is next opened
  remove_folder(options_.folder, ignored);
  return true;
}

}  // namespace octavo::storage

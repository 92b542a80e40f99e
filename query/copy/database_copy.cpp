#include "query/copy/database_copy.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "partitioning/engine.h"
#include "partitioning/keys/partition_key.h"
#include "query/project/target/projection_target.h"

namespace octavo::query::copy {

namespace {

using Clock = std::chrono::steady_clock;

// Of the documents that are made copies of while the ones before are written.
constexpr std::size_t chunk_bytes_max = 4ULL << 20;
constexpr std::size_t known_ids_max = 1'000;          // read together
constexpr std::size_t body_bytes_max = 256ULL << 20;  // of documents that are there already: no other limit
constexpr std::chrono::milliseconds pace_step{100};

// Errors that say that this document cannot be in the target.
bool has_no_id(const Error& error) {
  return error.code == ErrorCode::bad_request || error.code == ErrorCode::too_large;
}

}  // namespace

/// Reads documents of the source for one batch, as of its beginning.
class DatabaseCopy::Reader {
 public:
  static Expected<std::unique_ptr<Reader>> open(const DatabaseCopy& copy, const partitioning::Database& target) {
    OCTAVO_TRY(auto into, copy.read_form_(target));
    return std::unique_ptr<Reader>(new Reader(copy, target, std::move(into)));
  }

  /// All documents have the same ids in the target.
  bool keeps_ids() const { return !into_->keeps_key_in_body() && !copy_.record_.definition.id; }
  /// No two documents can have the same id there.
  bool has_unique_ids() const {
    const auto& id = copy_.record_.definition.id;
    return keeps_ids() || (id && id->is_unique());
  }

  /// Whether the source has another state of the document than at that sequence.
  Expected<bool> has_changed(std::string_view id, storage::Sequence since) {
    OCTAVO_TRY(const storage::Snapshot* const snapshot, snapshot_in(copy_.source_.locate_document(map_, id)));
    OCTAVO_TRY(const auto record, snapshot->find_stored_record(id));
    return !record || record->sequence > since;
  }

  /// A copy of the document, if its id in the target is known.
  Expected<CopiedDocument> read(std::string_view id) {
    CopiedDocument document{std::string(id), std::nullopt, {}};
    const std::size_t partition_id = copy_.source_.locate_document(map_, id);
    OCTAVO_TRY(const storage::Snapshot* const snapshot, snapshot_in(partition_id));
    OCTAVO_TRY(const auto record, snapshot->find_stored_record(id));
    if (!record) return document;
    document.copy.exists = true;
    document.copy.deleted = record->deleted;
    if (storage::is_design_id(id)) {
      document.id = document.source_id;
    } else if (keeps_ids() || !record->deleted) {
      std::string_view json;
      if (!keeps_ids()) {
        OCTAVO_TRY(json, record->body.open(body_));
      }
      auto changed = new_id(id, json);
      if (changed) {
        document.id = *std::move(changed);
      } else if (!has_no_id(changed.error()) || !skips()) {
        return std::unexpected(std::move(changed).error());
      }
    }
    if (document.id) OCTAVO_TRY_VOID(fill(document, *record, partition_id));
    return document;
  }

  /// Makes the copy of a document that has just got its id.
  Expected<void> complete(CopiedDocument& document) {
    const std::size_t partition_id = copy_.source_.locate_document(map_, document.source_id);
    OCTAVO_TRY(const storage::Snapshot* const snapshot, snapshot_in(partition_id));
    OCTAVO_TRY(const auto record, snapshot->find_stored_record(document.source_id));
    OCTAVO_ASSERT(record);
    return fill(document, *record, partition_id);
  }

 private:
  Reader(const DatabaseCopy& copy, const partitioning::Database& target,
         std::shared_ptr<const project::DocumentForm> into)
      : copy_(copy),
        target_(target),
        map_(copy.source_.partition_map()),
        snapshots_(map_.partition_id_end()),
        into_(std::move(into)) {}

  bool skips() const { return copy_.record_.definition.missing == CopyDefinition::Missing::skip; }

  Expected<const storage::Snapshot*> snapshot_in(std::size_t partition_id) {
    auto& snapshot = snapshots_[partition_id];
    if (!snapshot) {
      OCTAVO_TRY(auto taken, copy_.source_.snapshot(partition_id));
      snapshot.emplace(std::move(taken));
    }
    return &*snapshot;
  }

  Expected<void> fill(CopiedDocument& document, const storage::DocumentRecord& record, std::size_t partition_id) {
    const storage::CopyReader reader(map_.partition(partition_id)->store(), snapshots_[partition_id]->transaction());
    OCTAVO_TRY(document.copy, reader.document_as(record, *document.id));
    // In the target it is an ordinary document.
    document.copy.owner = 0;
    return {};
  }

  // Errors: bad_request: it can have none.
  Expected<std::string> new_id(std::string_view id, std::string_view json) const {
    if (into_->keeps_key_in_body()) {
      auto placed = into_->place(json, body_bytes_max);
      if (!placed) return without_id(id, placed.error().reason);
      return std::move(placed->id);
    }
    std::string made(id);
    if (const auto& definition = copy_.record_.definition; definition.id) {
      const auto key = definition.key->fill_key(json, id);
      const auto rest = definition.id->fill(json, id);
      if (!key || !rest) {
        return without_id(id, fmt::format("It has no value for `{}`.", (key ? definition.id : definition.key)->text()));
      }
      made = *key + ":" + *rest;
    }
    if (auto valid = partitioning::check_document_id(made, target_.partitioned()); !valid) {
      return without_id(id, valid.error().reason);
    }
    return made;
  }

  static std::unexpected<Error> without_id(std::string_view id, std::string_view reason) {
    return fail(ErrorCode::bad_request,
                fmt::format("The document '{}' can have no id in the target. {}",
                            id.substr(0, project::shown_id_bytes_max), reason),
                "copy_missing_key");
  }

  const DatabaseCopy& copy_;
  const partitioning::Database& target_;
  const partitioning::PartitionMap& map_;
  std::vector<std::optional<storage::Snapshot>> snapshots_;  ///< by partition id
  const std::shared_ptr<const project::DocumentForm> into_;
  storage::BodyBuffer body_;
};

/// Documents that are settled together, as soon as they are enough.
class DatabaseCopy::Chunk {
 public:
  Chunk(DatabaseCopy& copy, Reader& reader, project::CopyWriter& writer)
      : copy_(copy), reader_(reader), writer_(writer) {}

  Expected<void> add(std::string_view id) {
    OCTAVO_TRY(auto document, reader_.read(id));
    bytes_ += document.copy.bytes();
    documents_.push_back(std::move(document));
    return bytes_ < chunk_bytes_max ? Expected<void>{} : settle();
  }

  /// Settles what was added since the last time.
  Expected<void> settle() {
    bytes_ = 0;
    return copy_.settle(std::exchange(documents_, {}), reader_, writer_, copy_.purge_count());
  }

 private:
  DatabaseCopy& copy_;
  Reader& reader_;
  project::CopyWriter& writer_;
  std::vector<CopiedDocument> documents_;
  std::size_t bytes_ = 0;
};

DatabaseCopy::DatabaseCopy(partitioning::Database& source, CopyRecord record, project::FormReader read_form,
                           std::shared_ptr<const std::atomic<bool>> stopping)
    : source_(source),
      record_(std::move(record)),
      read_form_(read_form),
      stopping_(std::move(stopping)),
      state_({.folder = source.folder() / ("copy-" + record_.id),
              .durability = source.engine().settings().durability,
              .faults = source.engine().faults()}) {}

Expected<void> DatabaseCopy::open() {
  OCTAVO_TRY_VOID(state_.open());
  const auto numbers = state_.numbers();
  checkpoint_.store(std::min(numbers.checkpoint, source_.watermark()), std::memory_order_release);
  purge_count_.store(numbers.purge_count, std::memory_order_release);
  return {};
}

storage::Sequence DatabaseCopy::knows_deletions_through() const {
  return std::max(checkpoint(), purge_scan_.scanned_through());
}

Expected<void> DatabaseCopy::check(const CopyDefinition& definition, const project::DocumentForm& from,
                                   const project::DocumentForm& into, bool into_is_partitioned) {
  constexpr std::string_view word = "copy_syntax";
  if (from.keeps_key_in_body() != into.keeps_key_in_body()) {
    return fail(ErrorCode::bad_request, "A container is copied to a container, and a database to a database.", word);
  }
  if (into.keeps_key_in_body() && definition.key) {
    return fail(ErrorCode::bad_request,
                "The key path of the container decides the ids of its items: leave out `key` and `id`.", word);
  }
  if (definition.key && !into_is_partitioned) {
    return fail(ErrorCode::bad_request,
                "The target has no partitions: leave out `key` and `id`, or create it with "
                "`partitioned=true`.",
                word);
  }
  return {};
}

// Called with work_mutex_ held.
Expected<std::shared_ptr<partitioning::Database>> DatabaseCopy::open_target() const {
  if (!writes_) return fail(ErrorCode::overloaded, "The copy is being ended.");
  return project::open_target(source_.engine(), record_.definition.target, record_.target_tag);
}

// The checkpoint that is stored is that of the batches before: this one is not written yet.
Expected<void> DatabaseCopy::settle(std::vector<CopiedDocument> documents, Reader& reader, project::CopyWriter& writer,
                                    std::uint64_t purge_count) {
  // What was read must not be lost after what is made of it.
  OCTAVO_TRY_VOID(source_.make_durable());
  const auto has_id = [&](std::string_view source_id, std::string_view id) -> Expected<bool> {
    OCTAVO_TRY(const CopiedDocument other, reader.read(source_id));
    return other.id == id && other.copy.exists && !other.copy.deleted;
  };
  const auto remove = [&](std::vector<std::string> ids) -> Expected<void> {
    OCTAVO_TRY_VOID(writer.begin({}, std::move(ids)));
    return writer.finish();
  };
  OCTAVO_TRY_VOID(state_.commit({documents, checkpoint(), purge_count, reader.keeps_ids(), reader.has_unique_ids()},
                                has_id, remove));
  std::vector<storage::DocumentCopy> copies;
  for (CopiedDocument& document : documents) {
    if (!document.id || !document.copy.exists) continue;
    // The state knew its id.
    if (document.copy.id.empty()) OCTAVO_TRY_VOID(reader.complete(document));
    copies.push_back(std::move(document.copy));
  }
  return writer.begin(std::move(copies), {});
}

// What has changed may have left room for a document that was refused, or given back its unique value. The feed shows
// this only beyond that document.
Expected<void> DatabaseCopy::renew(Reader& reader, partitioning::Database& target) {
  project::CopyWriter writer(target);
  Chunk chunk(*this, reader, writer);
  for (std::string after; !stopping_->load(std::memory_order_relaxed);) {
    OCTAVO_TRY(auto ids, state_.sources_after(after, known_ids_max));
    if (ids.empty()) break;
    for (const std::string& id : ids) {
      OCTAVO_TRY(const bool has_changed, reader.has_changed(id, checkpoint()));
      if (has_changed) OCTAVO_TRY_VOID(chunk.add(id));
    }
    after = std::move(ids.back());
  }
  OCTAVO_TRY_VOID(chunk.settle());
  return writer.finish();
}

Expected<void> DatabaseCopy::finish(project::CopyWriter& writer) {
  OCTAVO_TRY_VOID(writer.finish());
  was_refused_ = writer.refusal().has_value();
  return was_refused_ ? std::unexpected(*writer.refusal()) : Expected<void>{};
}

Expected<std::size_t> DatabaseCopy::apply(const FeedChanges& changes) {
  const auto begun = Clock::now();
  std::unique_lock working(work_mutex_);
  OCTAVO_TRY(const auto target, open_target());
  OCTAVO_TRY(const auto reader, Reader::open(*this, *target));
  if (was_refused_) OCTAVO_TRY_VOID(renew(*reader, *target));
  project::CopyWriter writer(*target);
  std::size_t count_max = changes.documents.size();
  // So that keep_pace() does not wait for long.
  if (const auto rate_max = record_.definition.rate_max; rate_max != 0) {
    count_max = std::min(count_max, std::max<std::size_t>(1, rate_max / 2));
  }
  std::size_t count = 0;
  Chunk chunk(*this, *reader, writer);
  while (count < count_max && (count == 0 || Clock::now() < begun + apply_time)) {
    OCTAVO_TRY_VOID(chunk.add(changes.documents[count].id));
    ++count;
  }
  OCTAVO_TRY_VOID(chunk.settle());
  OCTAVO_TRY_VOID(finish(writer));
  const storage::Sequence reached = changes.checkpoint_after(count);
  checkpoint_.store(reached, std::memory_order_release);
  if (changes.complete && count == changes.documents.size()) {
    complete_through_.store(reached, std::memory_order_release);
  }
  working.unlock();
  keep_pace(count, begun);
  if (const std::chrono::duration<double> took = Clock::now() - begun; took.count() > 0) {
    per_second_.store(static_cast<double>(count) / took.count(), std::memory_order_relaxed);
  }
  return count;
}

void DatabaseCopy::keep_pace(std::size_t documents, Clock::time_point begun) const {
  if (record_.definition.rate_max == 0) return;
  const std::chrono::duration<double> due(static_cast<double>(documents) /
                                          static_cast<double>(record_.definition.rate_max));
  const auto until = begun + std::chrono::duration_cast<Clock::duration>(due);
  while (Clock::now() < until && !stopping_->load(std::memory_order_relaxed)) {
    std::this_thread::sleep_for(std::min<Clock::duration>(pace_step, until - Clock::now()));
  }
}

// Documents that left no trace in the feed.
Expected<void> DatabaseCopy::remove(std::vector<std::string> gone, std::uint64_t purge_count) {
  const std::lock_guard working(work_mutex_);
  OCTAVO_TRY(const auto target, open_target());
  OCTAVO_TRY(const auto reader, Reader::open(*this, *target));
  project::CopyWriter writer(*target);
  std::vector<CopiedDocument> documents;
  for (const std::string& id : gone) {
    OCTAVO_TRY(auto document, reader->read(id));
    documents.push_back(std::move(document));
  }
  OCTAVO_TRY_VOID(settle(std::move(documents), *reader, writer, purge_count));
  OCTAVO_TRY_VOID(finish(writer));
  purge_count_.store(purge_count, std::memory_order_release);
  return {};
}

Expected<bool> DatabaseCopy::remove_known(const KnownPurges& purges) {
  if (checkpoint() < purges.since) return false;
  OCTAVO_TRY_VOID(remove(purges.gone, purges.purge_count));
  purge_scan_.reset();
  return true;
}

Expected<bool> DatabaseCopy::remove_purged(const GoneDocuments& gone, std::size_t documents_max) {
  const auto next_ids = [this](std::string_view after, std::size_t count_max) {
    return state_.sources_after(after, count_max);
  };
  const auto remove_some = [this](std::vector<std::string> found, std::uint64_t count) {
    return remove(std::move(found), count);
  };
  return purge_scan_.run(next_ids, purge_count(), gone, documents_max, remove_some);
}

void DatabaseCopy::set_writing(bool writes) {
  const std::lock_guard working(work_mutex_);
  writes_ = writes;
}

void DatabaseCopy::remove_files() {
  const std::lock_guard working(work_mutex_);
  state_.remove_files();
}

DatabaseCopy::Status DatabaseCopy::status() const {
  return {state_.numbers(), per_second_.load(std::memory_order_relaxed)};
}

}  // namespace octavo::query::copy

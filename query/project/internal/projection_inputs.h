#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/project/projection.h"

/// What a projection reads. Private to Projection.
namespace octavo::query::project {

/// No database has had as many purges: all documents are looked for.
inline constexpr std::uint64_t unknown_purges = ~std::uint64_t{0};
/// A batch that would write more is divided.
inline constexpr std::size_t outbox_bytes_max = 8ULL << 20;

/// Evaluates documents for one batch.
class Projection::Reader {
 public:
  /// Errors: join_missing (not_found); those of RowProgram::compile, if the target is not what it was.
  static Expected<std::unique_ptr<Reader>> open(Projection& projection, partitioning::Database& target);

  Expected<ProjectedDocument> evaluate(const FeedDocument& document);
  /// The present state of a document of the source.
  Expected<ProjectedDocument> evaluate(std::string_view id);
  /// What a document of a joined database counts for.
  Expected<std::optional<std::string>> counted_key(std::size_t join, const FeedDocument& document);

 private:
  explicit Reader(Projection& projection) : projection_(projection) {}
  /// Notes what is wrong with the document.
  Expected<ProjectedDocument> evaluate(const storage::DocumentView& document);

  Projection& projection_;
  std::shared_ptr<const DocumentForm> from_;
  std::shared_ptr<const DocumentForm> into_;
  std::vector<JoinedDatabase> joined_;
  std::unique_ptr<RowEvaluator> evaluator_;
};

/// Follows the feed of a joined database: a document that was looked up, or that counts, alters the rows of others.
///
/// A change is handled, and a row is made, with Projection::work_mutex_ held. So a row is either made of the changed
/// document, or is known to refer to it when the change is handled.
class Projection::JoinConsumer final : public FeedConsumer {
 public:
  JoinConsumer(Projection& projection, std::size_t join, std::shared_ptr<partitioning::Database> database);

  partitioning::Database& database() const { return *database_; }
  /// The watermark of the database when it was opened.
  storage::Sequence opened_at() const { return opened_at_; }
  storage::Sequence checkpoint() const override { return checkpoint_.load(std::memory_order_acquire); }
  /// Below the checkpoint while rows are still to be made again.
  storage::Sequence complete_through() const override;
  std::uint64_t purge_count() const override { return purge_count_.load(std::memory_order_acquire); }
  storage::Sequence knows_deletions_through() const override;
  FeedBodies bodies() const override { return FeedBodies::as_stored; }
  Expected<std::size_t> apply(const FeedChanges& changes) override;
  Expected<bool> remove_known(const KnownPurges& purges) override;
  Expected<bool> remove_purged(const GoneDocuments& gone, std::size_t documents_max) override;
  /// The next step looks for documents that are gone, beside the changes.
  void begin_again() { purge_count_.store(unknown_purges, std::memory_order_release); }

 private:
  bool is_count() const { return projection_.record_.definition.joins[join_].is_count; }
  /// Adds to the batch what a change of this document may alter: a count, or rows.
  Expected<void> note(std::string_view id, std::optional<std::string> key, ProjectionState::Batch& batch) const;
  Expected<void> remove(const std::vector<std::string>& gone, std::uint64_t purge_count);

  Projection& projection_;
  const std::size_t join_;
  const std::shared_ptr<partitioning::Database> database_;
  const storage::Sequence opened_at_;
  std::atomic<storage::Sequence> checkpoint_{0};
  std::atomic<storage::Sequence> complete_through_{0};
  std::atomic<std::uint64_t> purge_count_{0};

  // Used by the follower's job only.
  storage::Sequence stored_checkpoint_ = 0;
  PurgeScan purge_scan_;
};

}  // namespace octavo::query::project

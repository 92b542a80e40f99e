#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "partitioning/database.h"
#include "partitioning/keys/partition_key.h"
#include "partitioning/keys/typed_key.h"
#include "partitioning/scan.h"
#include "query/index/index_entry.h"
#include "query/plan/plan.h"
#include "query/walk/document_lookup.h"
#include "query/walk/entry_filter.h"
#include "query/walk/index_reader.h"
#include "query/walk/index_walk.h"
#include "query/walk/leap.h"
#include "storage/document/document.h"

namespace octavo::query {

/// The part of a database that a query reads. The narrowest one that is set counts.
struct QueryScope {
  std::string partition_key = {};                      ///< one logical partition (as in document ids); empty: all
  std::optional<std::size_t> physical_partition = {};  ///< one physical partition
  /// Documents whose hash position lies in [first, second): part of a physical partition, or of several.
  std::optional<std::pair<partitioning::HashPosition, partitioning::HashPosition>> hash_range = {};

  /// Of these, documents whose effective partition keys lie in this range. Its bounds may divide a position, at which
  /// all keys with the same first value of a hierarchy are. nullopt: the positions decide.
  std::optional<partitioning::EffectiveRange> effective_range = {};

  std::string id_prefix = {};  ///< documents whose ids begin with this: the first levels of a hierarchical key

  bool is_everything() const {
    return partition_key.empty() && !physical_partition && !hash_range && id_prefix.empty();
  }
};

/// What a query has read and found so far.
struct WalkStatistics {
  std::uint64_t keys_examined = 0;       ///< index entries, or document keys without an index
  std::uint64_t documents_examined = 0;  ///< documents read
  std::uint64_t document_bytes = 0;      ///< of their bodies
  std::uint64_t results_returned = 0;

  /// The part of the query's charge that differs between plans, since `before`.
  double charge_since(const WalkStatistics& before) const;
  WalkStatistics& operator+=(const WalkStatistics& other);
  /// What was read since `before`.
  WalkStatistics operator-(const WalkStatistics& before) const;
};

/// A document that a walk has reached.
struct WalkedDocument {
  const storage::DocumentView& document;
  const storage::Snapshot* snapshot = nullptr;  ///< null: it is not in the database
  std::string_view position = {};               ///< key of its entry, or its id
  const IndexRow* row = nullptr;                ///< its entry; null: found by its id
  bool recheck = true;                          ///< it must be tested against the selector of its branch
};

/// A walk of the branches of one plan, slice by slice, which passes index entries and documents to a consumer. Between
/// slices it holds no snapshot and continues by key. The public members are its position: they may be set between
/// slices, to continue elsewhere. Must not be moved while it has `parts`. One thread at a time.
class PlanWalk {
 public:
  using ScanState = partitioning::ScanState;
  using Visit = partitioning::Visit;

  /// A consumer's answer to an entry or a document.
  enum class Flow : std::uint8_t {
    next,      ///< it was taken, or is not wanted
    load,      ///< entry: its document is wanted
    pause,     ///< document: not all of it was taken. The slice ends, and the next one begins with this document
    finished,  ///< nothing more is wanted from the index, or from the range of ids
  };

  /// What is read, and how much of it.
  struct Slice {
    partitioning::Database& database;
    const Plan& plan;
    const QueryScope& scope;
    std::size_t& rows_left;
    std::chrono::steady_clock::time_point until;
    std::uint64_t& keys_examined;
    /// Design documents are passed on, and ids without a document count as keys examined.
    bool counts_all_ids;
  };

  /// What a scan of documents has met.
  struct Visited {
    std::optional<Error> failure;
    std::optional<std::string> left_at;  ///< the scan was left at this id
  };

  /// Runs one slice. A consumer has these functions, which are called without indirection:
  ///
  ///   bool is_enough() const;      the slice ends before the next entry, or after the current document
  ///   bool is_turn_over() const;   likewise; asked between documents
  ///   bool is_finished() const;    after Flow::finished: the whole walk ends
  ///   Flow see_entry(std::string_view key);    each entry of an index: next or finished
  ///   Expected<Flow> take_entry(const IndexRow&, std::string_view key, DocumentLookup&);
  ///                                an entry in the scope, with all columns that must exist
  ///   Expected<Flow> take_document(const WalkedDocument&);     a live document
  ///
  /// Errors: those of the consumer, the index and the storage; corrupted for a damaged entry.
  template <class Consumer>
  Expected<ScanState> run(const Slice& slice, Consumer& consumer) {
    for (; branch < slice.plan.branches.size() && !consumer.is_finished(); ++branch) {
      auto state = branch_of(slice).index ? run_index(slice, consumer) : run_primary(slice, consumer);
      if (!state || *state == ScanState::more) return state;
      end_branch();
    }
    return ScanState::done;
  }

  /// Passes a document of a scan to the consumer.
  template <class Consumer>
  static Visit visit(const Slice& slice, const WalkedDocument& found, Visited& visited, Consumer& consumer) {
    ++slice.keys_examined;
    auto flow = consumer.take_document(found);
    if (!flow) {
      visited.failure = std::move(flow).error();
      return Visit::stop;
    }
    if (*flow == Flow::finished) return Visit::stop;
    if (*flow == Flow::pause || consumer.is_turn_over()) {
      visited.left_at = found.document.id;
      return Visit::pause;
    }
    return consumer.is_enough() ? Visit::pause : Visit::next;
  }

  /// Whether a document is a result of the current branch and, in a union, was not returned by an earlier one.
  /// `matches(selector)` tests the document; without `recheck` it is known to match the current branch.
  template <class Matches>
  Expected<bool> is_of_branch(const Plan& plan, bool recheck, Matches matches) const {
    if (recheck) {
      OCTAVO_TRY(const bool is_match, matches(plan.branches[branch].selector));
      if (!is_match) return false;
    }
    for (std::size_t i = 0; i < branch; ++i) {
      OCTAVO_TRY(const bool is_of_other, matches(plan.branches[i].selector));
      if (is_of_other) return false;
    }
    return true;
  }

  /// Records that the last document is a result: what led to it was not in vain.
  void note_result() {
    leap_.in_vain = 0;
    leap_.loaded = false;
  }

  /// Begins again with the first branch.
  void restart();

  std::size_t branch = 0;
  /// Position in the branch. In the primary index, its key is the id after which to continue, or with `inside` the id
  /// itself. It has the last document when a turn is over.
  IndexPosition position;
  /// Key of a document of which not all was taken. The consumer sets it, and resets it at the next document.
  std::optional<std::string> inside;
  /// If one physical partition is read after another: the current one, or the parts into which it was split.
  std::vector<std::size_t> parts;

 private:
  template <class Consumer>
  Expected<ScanState> run_index(const Slice& slice, Consumer& consumer) {
    const Branch& current = branch_of(slice);
    const auto& ranges = current.bounds.ranges;
    if (ranges.empty()) return ScanState::done;
    const QueryScope& scope = slice.scope;
    OCTAVO_TRY(IndexReader reader,
               IndexReader::open(slice.database, *current.index, {scope.partition_key, partition_id_read(scope)}));
    DocumentLookup documents(slice.database, reader);
    if (!filter_) filter_.emplace(current);
    std::optional<Leap> leap;
    if (!current.leaps.empty()) {
      OCTAVO_TRY(leap, Leap::open(slice.database, current, {scope.partition_key, scope.physical_partition}, leap_,
                                  [&consumer] { return consumer.is_turn_over(); }));
    }
    return walk_index(
        reader, ranges, slice.plan.descending, position, slice.rows_left, slice.until, slice.keys_examined,
        [&](const storage::KeyValue& entry) -> Expected<WalkStep> {
          if (consumer.is_enough() || consumer.is_turn_over()) return WalkStep::stop_before;
          OCTAVO_TRY(const Flow flow, take_entry(slice, entry, reader, documents, consumer));
          if (flow == Flow::pause) return WalkStep::stop_before;
          return flow == Flow::finished ? WalkStep::finish : WalkStep::next;
        },
        leap ? &*leap : nullptr);
  }

  template <class Consumer>
  Expected<Flow> take_entry(const Slice& slice, const storage::KeyValue& entry, const IndexReader& reader,
                            DocumentLookup& documents, Consumer& consumer) {
    const Branch& current = branch_of(slice);
    const auto row = IndexRow::decode(entry.key, entry.value);
    if (!row) return damaged_entry(*current.index);
    if (consumer.see_entry(entry.key) == Flow::finished) return Flow::finished;
    for (const std::size_t column : current.columns_that_must_exist) {
      if (row->field(column).empty()) return Flow::next;
    }
    if (!is_in_scope(slice, row->document_id())) return Flow::next;
    OCTAVO_TRY(const Flow flow, consumer.take_entry(*row, entry.key, documents));
    if (flow != Flow::load) return flow;
    OCTAVO_TRY(const bool wanted, filter_->passes(reader, row->document_id(), slice.keys_examined));
    if (!wanted) return Flow::next;
    OCTAVO_TRY(const auto found, documents.find(row->document_id()));
    if (!found.document || found.document->deleted) return Flow::next;
    // A document that changed after the entries of a global index were read may not match any more.
    const bool recheck = current.recheck || found.document->sequence > reader.exact_through();
    return consumer.take_document({.document = *found.document,
                                   .snapshot = found.snapshot,
                                   .position = entry.key,
                                   .row = &*row,
                                   .recheck = recheck});
  }

  template <class Consumer>
  Expected<ScanState> run_primary(const Slice& slice, Consumer& consumer) {
    const auto& ranges = branch_of(slice).id_ranges;
    for (; position.range < ranges.size(); ++position.range) {
      const IdRange& range = ranges[slice.plan.descending ? ranges.size() - 1 - position.range : position.range];
      auto state = range.is_point() ? run_point(slice, *range.start, consumer) : run_id_range(slice, range, consumer);
      if (!state || *state == ScanState::more) return state;
      if (consumer.is_finished()) return ScanState::done;
      scan_.reset();
    }
    return ScanState::done;
  }

  template <class Consumer>
  Expected<ScanState> run_point(const Slice& slice, const std::string& id, Consumer& consumer) {
    if (slice.rows_left == 0 || consumer.is_enough() || consumer.is_turn_over()) return ScanState::more;
    --slice.rows_left;
    if (!is_point_wanted(slice, id)) return ScanState::done;
    OCTAVO_TRY(const auto snapshot, slice.database.snapshot_for_document(id));
    OCTAVO_TRY(const auto document, snapshot.find(id));
    const bool is_there = document && !document->deleted;
    if (is_there || slice.counts_all_ids) ++slice.keys_examined;
    if (!is_there) return ScanState::done;
    position.key = id;
    OCTAVO_TRY(const Flow flow, consumer.take_document({.document = *document,
                                                        .snapshot = &snapshot,
                                                        .position = document->id,
                                                        .recheck = branch_of(slice).recheck}));
    return flow == Flow::pause ? ScanState::more : ScanState::done;
  }

  template <class Consumer>
  Expected<ScanState> run_id_range(const Slice& slice, const IdRange& range, Consumer& consumer) {
    if (!scan_) begin_scan(slice, range);
    if (slice.rows_left == 0) return ScanState::more;
    const bool recheck = branch_of(slice).recheck;
    Visited visited;
    std::size_t rows = 0;
    auto state = scan_->run({slice.rows_left, slice.until}, [&](const storage::DocumentView& document,
                                                                const storage::Snapshot& snapshot) {
      ++rows;
      if (!is_document_wanted(slice, range, document)) return Visit::next;
      return visit(slice, {.document = document, .snapshot = &snapshot, .position = document.id, .recheck = recheck},
                   visited, consumer);
    });
    slice.rows_left -= std::min(rows, slice.rows_left);
    if (visited.failure) return std::unexpected(*std::move(visited.failure));
    if (visited.left_at) {
      // The scan considers this document done.
      position.key = std::move(visited.left_at);
      scan_.reset();
    }
    return state;
  }

  const Branch& branch_of(const Slice& slice) const { return slice.plan.branches[branch]; }
  /// The physical partition that is read now, if it is only one.
  std::optional<std::size_t> partition_id_read(const QueryScope& scope) const;
  // In a single physical partition only its own documents are read, except by their ids: see is_point_wanted.
  bool is_in_scope(const Slice& slice, std::string_view id) const {
    const QueryScope& scope = slice.scope;
    const bool is_narrow = parts.size() > 1 || scope.physical_partition || scope.hash_range || !scope.id_prefix.empty();
    return !is_narrow || is_in_narrow_scope(slice, id);
  }
  bool is_in_narrow_scope(const Slice& slice, std::string_view id) const;
  bool is_in_parts(const Slice& slice, std::string_view id) const;
  bool is_point_wanted(const Slice& slice, std::string_view id) const;
  bool is_document_wanted(const Slice& slice, const IdRange& range, const storage::DocumentView& document) const;
  static std::unexpected<Error> damaged_entry(const IndexView& index);
  void begin_scan(const Slice& slice, const IdRange& range);
  void end_branch();

  std::optional<EntryFilter> filter_;  ///< of the branch, if it is an index
  LeapState leap_;
  std::unique_ptr<partitioning::DocumentScan> scan_;  ///< of the current range of ids
};

}  // namespace octavo::query

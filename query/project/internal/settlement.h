#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "query/project/projection_state.h"

/// How a projection's state changes in one transaction. Private to ProjectionState.
namespace octavo::query::project {

/// The trees of a projection's store, in the order of their handles.
///
/// Format (trees of a projection):
///   meta      "numbers"                        → numbers record
///             "input/" join:u8                 → input record
///             "switch"                         → target id       rows of a former state were looked at up to here
///   sources   source id                        → source record, of each document that gives a row or is left out
///   rows      target id                        → row record
///   claims    target id:escaped source id      → (empty)   if several documents give a row of this id: all of them
///   ranks     rank target id                   → may_be_there:u8 target id        with `newest` only
///   refused   target id                        → (empty)   rows that the target did not take
///   outbox    number:u64be                     → write record
///   referrers join:u8 key:escaped source id    → (empty)   documents whose row a change at this key may alter
///   members   join:u8 document id              → key       of each document that is counted
///   counts    join:u8 key                      → number:varint
///   fan_outs  join:u8 key                      → fan-out record, while rows of its referrers are made again
///   long      rows of long keys of the other trees (long_key_tree)
///
///   source record  := skip:u8 ids join*                     skip: 0 none, 1 no key, 2 an error. +4: several rows
///   ids            := target id:sized | number:varint (target id:sized)*     empty: no row. The second for several
///   join           := 00 | 01 key:sized           by join: not joined, or at this key
///   input record   := checkpoint:varint purge_count:varint
///   fan-out record := again:u8 visited:varint source id     the last one whose row was made again; again 1: once more
///   row record     := flags:u8 epoch:varint digest[16] rank:sized source id
///   flags          := 1 several documents give it, 2 the target may have it
///   write record   := deleted:u8 target id:sized body
///   numbers record := 01 and the members of ProjectionState::Numbers in order, each a varint
///   escaped        := 00 becomes 00 FF, then 00 01
///
/// `digest` is the beginning of the body's SHA-256; all bytes 0: the row must be written when it is looked at next.
enum class StateTree : std::size_t {
  meta,
  sources,
  rows,
  claims,
  ranks,
  refused,
  outbox,
  referrers,
  members,
  counts,
  fan_outs,
  long_keys
};

void append_escaped(std::string& out, std::string_view text);
/// The text that begins there in this form.
std::string read_escaped(std::string_view escaped);

struct RowRecord {
  bool is_claimed_often = false;
  bool may_be_there = false;
  std::uint64_t epoch = 0;
  std::string digest;  ///< empty: unknown
  std::string rank;
  std::string source;
};
std::string encode_row(const RowRecord& record);
Expected<RowRecord> decode_row(std::string_view record);

struct SourceRecord {
  ProjectedDocument::Skip skip = ProjectedDocument::Skip::none;
  std::vector<std::string> targets;  ///< ids of its rows, in order
  std::vector<std::optional<std::string>> join_keys;
  bool is_empty() const;
};
std::string encode_source(const SourceRecord& record);
Expected<SourceRecord> decode_source(std::string_view record);

std::string encode_input(const ProjectionState::Input& input);
Expected<ProjectionState::Input> decode_input(std::string_view record);

struct FanOutRecord {
  bool again = false;
  std::uint64_t visited = 0;
  std::string position;
};
std::string encode_fan_out(const FanOutRecord& record);
Expected<FanOutRecord> decode_fan_out(std::string_view record);
/// Keys of the trees of joins; without the last part, their common beginning.
std::string join_key(std::size_t join, std::string_view key);
std::string referrer_key(std::size_t join, std::string_view key, std::string_view source = {});

std::string encode_write(const RowWrite& write);
Expected<RowWrite> decode_write(std::string_view record);

std::string encode_numbers(const ProjectionState::Numbers& numbers);
Expected<ProjectionState::Numbers> decode_numbers(std::string_view record);

/// Applies a batch in a transaction: first the documents' claims to rows, then what becomes of each row that is
/// touched.
class Settlement {
 public:
  /// `is_hidden`: which rows there are becomes known, but none is written.
  Settlement(storage::WriteTransaction& transaction, const storage::Store& store, ProjectionState::Numbers& numbers,
             std::uint32_t newest, bool is_hidden, ProjectionState::Evaluate evaluate)
      : transaction_(transaction),
        store_(store),
        numbers_(numbers),
        newest_(newest),
        is_hidden_(is_hidden),
        evaluate_(evaluate) {}

  Expected<void> change(const SourceChange& change);
  /// A document that is counted, or no longer is.
  Expected<void> count(const ProjectionState::Member& member);
  /// Rows of the referrers are to be made again, if there are any.
  Expected<void> fan_out(std::size_t join, std::string_view key);
  /// A part of a fan-out was done.
  Expected<void> advance(const ProjectionState::FanOutStep& step);
  /// The row is looked at, and written even if it is known to be there.
  Expected<void> look_again(std::string_view target);
  /// Decides all rows that were touched, and those that come in or leave because of them.
  Expected<void> settle();
  /// A row that a former state has written: it is removed unless it is written now. After settle().
  Expected<void> replace(const std::string& target);
  std::vector<RowWrite> take_writes() { return std::move(writes_); }

 private:
  struct Touched {
    std::optional<RowRecord> before;
    std::optional<RowRecord> after;  ///< nullopt: no document gives it any more
    bool has_new_source = false;     ///< another document than before gives it
    bool must_be_written = false;    ///< even if it is known to be there
    bool is_evaluated = false;
    std::optional<ProjectedRow> evaluated;  ///< of a document that is not of the batch
    const ProjectedRow* row = nullptr;      ///< once it is evaluated; null: its document has changed meanwhile
  };
  storage::Tree tree(StateTree name) const { return store_.tree(static_cast<std::size_t>(name)); }
  Expected<Touched*> touch(std::string_view target);
  Expected<void> refer(const std::string& source, const SourceRecord& before, const SourceRecord& after);
  Expected<void> add_to_count(std::size_t join, std::string_view key, int change);
  Expected<void> claim(const std::string& target, const std::string& source);
  Expected<void> give_up(const std::string& target, const std::string& source);
  Expected<void> give_up_one_of_several(const std::string& target, Touched& touched, const std::string& source);
  bool must_evaluate(const Touched& touched) const;
  Expected<void> evaluate(const std::string& target, Touched& touched);
  /// The row as its document, which is not of the batch, gives it now.
  Expected<std::optional<ProjectedRow>> evaluate_again(const std::string& source, std::string_view target);
  Expected<void> move_rank(const std::string& target, Touched& touched);
  Expected<void> put_rank(const std::string& target, const RowRecord& record);
  /// Which rows of one partition key are the newest. Touches those that come in or leave.
  Expected<void> select_newest(const std::string& group, std::set<std::string, std::less<>>& selected);
  Expected<void> decide_newest();
  Expected<void> decide();
  Expected<void> write(const std::string& target, Touched& touched);
  Expected<void> remove(const std::string& target, Touched& touched);
  Expected<void> store(const std::string& target, const Touched& touched);

  storage::WriteTransaction& transaction_;
  const storage::Store& store_;
  ProjectionState::Numbers& numbers_;
  const std::uint32_t newest_;
  const bool is_hidden_;
  const ProjectionState::Evaluate evaluate_;
  std::map<std::string, Touched, std::less<>> touched_;
  std::unordered_map<std::string_view, const ProjectedDocument*> batch_;  ///< by source id
  /// Rows that were not asked for yet of documents that were evaluated for another one, by source id. Bounded.
  std::unordered_map<std::string, std::vector<ProjectedRow>> evaluated_;
  std::size_t evaluated_bytes_ = 0;
  std::vector<RowWrite> writes_;
};

}  // namespace octavo::query::project

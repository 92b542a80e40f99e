#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/lmdb/internal/digest_rows.h"
#include "storage/lmdb/internal/long_key_levels.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

/// Walks the long keys of one run, both ways, and merges the rows in both forms. Throws as Cursor does.
class LongKeyRun {
 public:
  explicit LongKeyRun(Tree tree) : tree_(tree) {}

  /// Begins with the run of this long key. `cursor` walks the tree and is moved. The calls below concern this run.
  void enter(Cursor& cursor, std::string_view key);
  /// The beginning that the run's keys have in common.
  const std::string& prefix() const { return prefix_; }

  /// First entry with key >= `key`, which is a long key of the run. A key's view lives until the next call.
  std::optional<KeyValue> seek(std::string_view key);
  /// Last entry with key <= `key`.
  std::optional<KeyValue> seek_back(std::string_view key);
  std::optional<KeyValue> first();
  std::optional<KeyValue> last();
  /// Precondition of both: the call before has returned an entry.
  std::optional<KeyValue> next() { return step(true); }
  std::optional<KeyValue> previous() { return step(false); }

  /// Number of rows read so far.
  std::uint64_t rows_read() const;

 private:
  template <class Find>
  std::optional<KeyValue> start(bool forward, Find find);
  std::optional<KeyValue> choose();
  std::optional<KeyValue> step(bool forward);

  const Tree tree_;
  std::string prefix_;
  // Each is made for the first run that needs it.
  std::optional<LongKeyLevels> levels_;
  std::optional<DigestRows> digests_;
  bool has_levels_ = false;
  bool has_digests_ = false;
  // The nearest entry of each form in the direction; the nearer one is the present entry.
  std::optional<KeyValue> of_levels_;
  std::optional<KeyValue> of_digests_;
  bool forward_ = true;
  bool at_digests_ = false;
  std::uint64_t rows_read_ = 0;  ///< by enter()
};

}  // namespace octavo::storage

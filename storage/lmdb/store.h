#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/error.h"
#include "base/function_ref.h"
#include "config/settings.h"
#include "storage/lmdb/fault_injector.h"

struct MDB_cursor;
struct MDB_env;
struct MDB_txn;

namespace octavo::storage {

class RowLog;
class Store;
class StoreCompaction;
class StoreCopy;

/// The library that stores the data: for information only.
struct StorageEngine {
  std::string_view name;
  std::string_view version;
};
StorageEngine storage_engine();

/// A store's tree of this name, if it has one, keeps the rows of long keys of its other trees (long_key_tree.h).
inline constexpr std::string_view tree_of_long_keys = "long";

/// One named tree of a store. A plain handle, valid as long as the store is open.
struct Tree {
  /// The handle of a tree that the file lacks, as the disk was full when it was to be created. It has no rows.
  static constexpr std::uint32_t missing = ~std::uint32_t{0};
  std::uint32_t handle = 0;
  std::uint32_t long_keys = missing;  ///< the handle of the store's tree_of_long_keys

  bool operator==(const Tree&) const = default;
};

struct KeyValue {
  std::string_view key;
  std::string_view value;
};

/// How many rows are in a range of keys.
struct RowsEstimate {
  std::uint64_t rows = 0;
  bool exact = false;
};

/// How densely a file is filled.
struct Density {
  std::uint64_t file_bytes = 0;
  std::uint64_t dense_bytes = 0;         ///< about what the file has after a compaction; at most `file_bytes`
  std::vector<std::uint64_t> row_bytes;  ///< about the length of all keys and values, by tree

  std::uint64_t sparse_bytes() const { return file_bytes - dense_bytes; }
};

/// How much to read for an estimate. `rough`: 2 µs for a range that is in memory, and correct within a factor of 1.33
/// for 99 of 100 ranges, or of 2.2 where full and nearly empty parts of the tree take turns; `close`: 5 µs, and within
/// 1.11 or 1.5.
enum class Closeness : std::uint8_t { rough, close };

/// Base of both transactions: reads. Returned views point into mapped memory and live until the transaction ends
/// (or, in a write transaction, until the next write).
class Transaction {
 public:
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// O(log n). nullopt: no such key.
  Expected<std::optional<std::string_view>> get(Tree tree, std::string_view key) const;

 protected:
  Transaction() = default;
  ~Transaction() = default;
  MDB_txn* handle_ = nullptr;

 private:
  friend class Cursor;
  friend class Store;
  friend class StoreCopy;
  friend class TreeSize;
};

/// A consistent snapshot for reading. Cheap: taken from the thread's pool and renewed, about 0.1 µs. Does not block,
/// except while the store is held exclusively (to open it or to make it larger), and then for at most 2 s. Must
/// be ended soon, on the thread that began it: space freed since its start cannot be reused while it lives. Never hold
/// one across a co_await.
class ReadTransaction : public Transaction {
 public:
  ReadTransaction(ReadTransaction&& other) noexcept;
  ReadTransaction& operator=(ReadTransaction&& other) noexcept;
  ~ReadTransaction();

  /// Estimates the number of rows with low <= key < high, without `high` up to the end of the tree, from a few places
  /// in the tree: the cost does not depend on the number. A whole tree costs less than a range. nullopt: unknown; count
  /// rows instead. In a store with long keys a run of them (long_key_tree.h) counts as one row in a large range; a
  /// small range, and one with a long key as a bound, is counted, and is unknown if it has more than 64 keys. Throws as
  /// Cursor does.
  std::optional<RowsEstimate> rows_estimate(Tree tree, std::string_view low, std::optional<std::string_view> high,
                                            Closeness closeness = Closeness::rough) const;

 private:
  friend class Store;
  ReadTransaction(Store* store, MDB_txn* handle, std::size_t slot);
  void end();
  Store* store_ = nullptr;
  std::size_t slot_ = 0;
};

/// The only writer of a store at a time. Aborts if destroyed without a commit. One thread only.
class WriteTransaction : public Transaction {
 public:
  ~WriteTransaction();

  /// Errors of all four: disk_full, io_failure. The body of Store::write must return them: the reason may be
  /// that room is to be made, and then the body is run again.
  Expected<void> put(Tree tree, std::string_view key, std::string_view value);
  /// Does the same as put, over a row with a value of `old_value_bytes`. A row that becomes much smaller is erased
  /// first: only then are pages merged that become nearly empty. `key` and `value` must not point into the store.
  Expected<void> put_over(Tree tree, std::string_view key, std::string_view value, std::size_t old_value_bytes);
  /// Does the same as put, for keys known to sort after all others of the tree: takes the least space.
  Expected<void> append(Tree tree, std::string_view key, std::string_view value);
  /// True if the key existed.
  Expected<bool> erase(Tree tree, std::string_view key);
  /// Rows put, appended and erased so far. The difference of two values tells what a part of the transaction wrote.
  std::uint64_t writes() const { return writes_; }
  /// Runs `body` as a nested transaction; its writes are undone unless it returns true. No cursor opened before may be
  /// open meanwhile. Errors: those of put and of `body`.
  Expected<void> nested(FunctionRef<Expected<bool>()> body);

 private:
  friend class Store;
  WriteTransaction(const Store& store, MDB_txn* handle) : store_(store) { handle_ = handle; }
  Expected<void> note(int code, const char* action);
  void log_row(Tree tree, std::string_view key, std::optional<std::string_view> value);
  const Store& store_;
  std::uint64_t writes_ = 0;
  bool map_full_ = false;
};

/// Walks a tree in key order. RAII; must not outlive its transaction.
class Cursor {
 public:
  /// All members throw std::bad_alloc, or ReadFailure at a row that cannot be read: a silent end would hide rows.
  Cursor(const Transaction& transaction, Tree tree);
  Cursor(Cursor&& other) noexcept;
  Cursor& operator=(Cursor&& other) noexcept;
  ~Cursor();

  /// First entry with key >= `key`; nullopt past the end.
  std::optional<KeyValue> seek(std::string_view key);
  /// Last entry with key <= `key`.
  std::optional<KeyValue> seek_back(std::string_view key);
  std::optional<KeyValue> first();
  std::optional<KeyValue> last();
  std::optional<KeyValue> next();
  std::optional<KeyValue> previous();
  /// A cursor on another tree in the same transaction.
  Cursor beside(Tree tree) const;

 private:
  Cursor() = default;
  std::optional<KeyValue> step(int operation, std::string_view key = {});
  MDB_cursor* handle_ = nullptr;
};

/// Counts the rows of a tree by reading all of them: for checks. A caller that needs the number often keeps it in a
/// row. For trees that may have long keys there is long_key::count. Throws as Cursor does.
std::uint64_t count_rows(const Transaction& transaction, Tree tree);

/// A store: a folder with named trees of rows in the order of their keys, which transactions read and change. What is
/// above knows no more of it than this header says. LMDB keeps the rows, and no other class calls it.
///
/// Thread-safe. Opens on first use and can be closed while idle; grows online. Any thread may read; writes must
/// come from one thread at a time (the caller ensures that: PhysicalPartition's queue, or a mutex).
///
/// Freed pages are used again, but the file never becomes smaller: StoreCompaction (store_compaction.h) replaces it by
/// a dense one while the store is used.
///
/// A commit that fails on the disk stays an error. Its effects are settled before the next write
/// (store_write.cpp). Readers see only what was acknowledged, or has been made durable since.
class Store {
 public:
  struct Options {
    std::filesystem::path folder;
    /// Created on first open; handles in this order by tree(i). On a full disk a file that lacks some can be read.
    std::vector<std::string> trees;
    config::Durability durability = config::Durability::commit;
    std::uint64_t capacity_bytes_initial = 16ULL << 20;  ///< at least; more is reserved if possible
    /// Lets tests of growth keep that room small.
    std::uint64_t capacity_bytes_reserved_max = ~std::uint64_t{0};
    FaultInjector* faults = nullptr;  ///< for tests only
  };

  explicit Store(Options options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Creates the folder and an empty store, synced to disk. After an error none of its files is left.
  Expected<void> create();
  /// Does the same as create(), but in a folder beside it that is then renamed: after a power loss the store exists
  /// completely or not at all. For stores whose complete creation is recorded nowhere else.
  Expected<void> create_whole();
  /// Removes the folder with everything in it, if there is one, and creates an empty store there as
  /// create_whole() does: to empty one whose content can be derived again. No transaction may run. After an error the
  /// old one is gone or not, and the next call continues. Errors: overloaded: transactions are running; otherwise those
  /// of create_whole().
  Expected<void> create_again();
  /// Whether `folder` has a store. True also if that cannot be found out, so that open() reports why.
  static bool exists_in(const std::filesystem::path& folder);
  /// Size of the file in `folder`, without opening it. nullopt: no file exists, or its size cannot be read.
  static std::optional<std::uint64_t> file_bytes_in(const std::filesystem::path& folder);
  /// Opens it if it is closed. Errors: io_failure, corrupted (missing, truncated, damaged: see check_roots).
  Expected<void> open();
  /// Closes the store once no transaction is running; false if one still runs after `patience`.
  bool close_if_idle();
  bool is_open() const { return open_.load(std::memory_order_acquire) != nullptr; }

  /// Precondition: the store was opened. LMDB keeps its list of free pages and its list of trees under the first two
  /// handles, 0 and 1.
  Tree tree(std::size_t index) const {
    OCTAVO_ASSERT(index < trees_.size() && trees_[index].handle > 1);
    return trees_[index];
  }

  Expected<ReadTransaction> read();
  /// Runs `body` in a write transaction and commits it; durable on return as Options::durability says. If there is no
  /// room left the transaction is abandoned, room made, and `body` run again: it must have no other effects. An error
  /// or exception from `body` aborts. `expected_bytes` is a hint for growing beforehand.
  /// Errors: disk_full: nothing was written. io_failure: the disk failed; only reading tells whether the write is
  /// stored; it is not run again. overloaded: no memory or descriptors, or readers did not leave while room had to be
  /// made; nothing was written.
  Expected<void> write(std::size_t expected_bytes, FunctionRef<Expected<void>(WriteTransaction&)> body);

  /// On return everything that readers have seen so far is on the disk. Does nothing with Durability::ephemeral.
  Expected<void> sync();

  /// Allocates disk space for the next `bytes` of growth, so that writes can use it when the disk is full. Does
  /// nothing if the file system cannot do that. Must not run at the same time as a write. Error: disk_full, even if a
  /// part was allocated.
  Expected<void> reserve_space(std::uint64_t bytes);

  /// Steady-clock milliseconds of the last transaction: used to close the least recently used store.
  std::uint64_t last_used_ms() const { return last_used_ms_.load(std::memory_order_relaxed); }
  struct Sizes {
    std::uint64_t file_bytes = 0;      ///< what is or was in use
    std::uint64_t used_bytes = 0;      ///< file minus what is free
    std::uint64_t capacity_bytes = 0;  ///< how large the file may become before the room for it must grow
  };
  Expected<Sizes> sizes();
  /// Estimates from at most 64 random leaves of each tree, in some milliseconds, or more if the disk is read. Exact for
  /// trees that have no more leaves.
  Expected<Density> density();
  /// Changes with every transaction that writes, and with every compaction.
  std::uint64_t last_transaction() const { return acknowledged_.load(std::memory_order_relaxed); }
  /// Looks for parts of the file that are neither in use nor free, as of `transaction`: a sentence for a report.
  /// nullopt: there are none, or it is unknown because there were writes since. Reads the list of what is free.
  std::optional<std::string> lost_space(const ReadTransaction& transaction) const;
  const Options& options() const { return options_; }

 private:
  friend class ReadTransaction;
  friend class StoreCompaction;
  friend class StoreCopy;
  friend class WriteTransaction;

  /// Readers announce themselves in the slot of their thread, so that they share no cache line. A thread that needs the
  /// store exclusively (to grow the map, to close) closes the gate and waits until all slots are empty.
  struct alignas(64) ReaderSlot {
    std::atomic<std::uint32_t> active{0};
    std::atomic<MDB_txn*> pooled{nullptr};
  };
  static constexpr std::size_t reader_slots = 32;
  /// How long to wait for readers to leave, and how long readers wait at a closed gate. Without a limit, two writers
  /// that wait for readers, each of which waits at the other's gate, would deadlock.
  static constexpr std::chrono::milliseconds gate_patience{2000};
  class ExclusiveGate;
  class Stay;
  struct HandleCloser {
    std::uint64_t map_bytes = 0;
    void operator()(MDB_env* env) const;
  };
  using Handle = std::unique_ptr<MDB_env, HandleCloser>;
  struct Attempt;

  /// Counts the file's pages: each is in a tree, on the list of free pages, or a meta page.
  struct PageCensus {
    std::uint64_t in_trees = 0;
    std::uint64_t free = 0;
    std::uint64_t meta = 0;
    std::uint64_t total = 0;
    bool newest = true;  ///< false: there were writes since the snapshot, and `total` includes their pages
  };
  PageCensus page_census(const ReadTransaction& transaction) const;
  int fault(StorageCall call) const {
    return options_.faults == nullptr ? 0 : options_.faults->before(call, options_.folder);
  }
  Expected<void> sync_names() const;
  Expected<void> sync_data() const;
  Expected<void> sync_replacement();
  std::filesystem::path draft_folder() const;
  std::size_t index_of(Tree tree) const;
  std::unique_lock<std::mutex> take_turn();
  std::optional<std::size_t> enter();
  void leave(std::size_t slot_index);
  Expected<Handle> open_handle() const;
  Expected<Handle> map_file(std::uint64_t map_bytes, std::uint64_t map_bytes_min) const;
  int open_trees_once(MDB_env* env, bool creates);
  std::uint32_t handle_of_long_keys(std::span<const Tree> opened) const;
  Expected<void> open_trees(MDB_env* env);
  Expected<void> create_missing_trees();
  Expected<void> open_alone(bool for_writing);
  Expected<void> reopen(const MDB_env* failed);
  void close_handle();
  void abort_pooled();
  int begin_reading(MDB_env* env, std::size_t slot_index, MDB_txn*& transaction);
  Expected<void> grow(std::uint64_t map_bytes_min);
  Expected<void> settle();
  Expected<void> make_durable(MDB_env* env);
  int commit(MDB_txn* transaction);
  int commit_logged(MDB_txn* transaction);
  Attempt try_to_write(std::size_t expected_bytes, FunctionRef<Expected<void>(WriteTransaction&)> body);
  void touch();

  Options options_;
  bool creating_ = false;  ///< inside create(): a missing file is created
  std::vector<Tree> trees_;
  std::atomic<bool> trees_missing_{false};  ///< some of trees_ are not in the file
  std::unique_ptr<ReaderSlot[]> slots_;
  std::atomic<MDB_env*> open_{nullptr};
  std::uint64_t map_bytes_ = 0;  ///< of open_; changed only with exclusive access
  std::atomic<bool> gate_closed_{false};
  std::mutex gate_mutex_;
  std::atomic<std::uint64_t> last_used_ms_{0};
  /// Steady-clock milliseconds; until then growing does not wait for readers.
  std::atomic<std::uint64_t> grow_patiently_from_ms_{0};
  /// A commit failed on the disk; what it left there is uncertain until settle().
  std::atomic<bool> unsettled_{false};
  /// LMDB's number of the last transaction known to be durable (as Options::durability says).
  std::atomic<std::uint64_t> acknowledged_{0};

  std::mutex turn_queue_;         ///< held while waiting for the turn, so that the next turn is the other thread's
  std::mutex write_turn_;         ///< held by write(), and by a copy of the store at its end
  RowLog* row_log_ = nullptr;     ///< of a running copy; guarded by write_turn_
  bool is_being_copied_ = false;  ///< a draft is in use; guarded by gate_mutex_
  std::mutex replacement_mutex_;  ///< serializes the syncs of a replacement
  /// A compaction has replaced the file, and a power loss may still bring the old one back.
  std::atomic<bool> replacement_unsynced_{false};
};

}  // namespace octavo::storage

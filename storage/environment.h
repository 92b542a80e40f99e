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

#include <lmdb.h>

#include "base/error.h"
#include "base/function_ref.h"
#include "config/settings.h"
#include "storage/fault_injector.h"

namespace octavo::storage {

class Environment;

/// One named tree of an environment. A plain handle, valid as long as the environment is open.
struct Tree {
  MDB_dbi handle = 0;
};

struct KeyValue {
  std::string_view key;
  std::string_view value;
};

/// Base of both transactions: reads. Returned views point into the memory map and live until the transaction ends
/// (or, in a write transaction, until the next write).
class Transaction {
 public:
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  /// O(log n). nullopt: no such key.
  Expected<std::optional<std::string_view>> get(Tree tree, std::string_view key) const;
  /// Number of entries. O(1).
  std::uint64_t size(Tree tree) const;
  MDB_txn* handle() const { return handle_; }

 protected:
  Transaction() = default;
  ~Transaction() = default;
  MDB_txn* handle_ = nullptr;
};

/// A consistent snapshot for reading. Cheap: taken from the thread's pool and renewed, about 0.1 µs. Never blocks, save
/// while somebody has the environment alone (to open it, to enlarge its map), and then for 2 s at most. Must be ended
/// on the thread that began it, soon: pages freed since its start cannot be reused while it lives. Never hold one
/// across a co_await.
class ReadTransaction : public Transaction {
 public:
  ReadTransaction(ReadTransaction&& other) noexcept;
  ReadTransaction& operator=(ReadTransaction&& other) noexcept;
  ~ReadTransaction();

 private:
  friend class Environment;
  ReadTransaction(Environment* environment, MDB_txn* handle, std::size_t slot);
  void end();
  Environment* environment_ = nullptr;
  std::size_t slot_ = 0;
};

/// The one writer of an environment at a time. Aborts when destroyed without commit. One thread only.
class WriteTransaction : public Transaction {
 public:
  ~WriteTransaction();

  /// Errors of all three: disk_full, io_failure; MDB_MAP_FULL shows as map_full() being true, then the whole
  /// transaction must be abandoned and run again (Environment::write does).
  Expected<void> put(Tree tree, std::string_view key, std::string_view value);
  /// As put, for keys known to sort after all others of the tree: fills pages fully.
  Expected<void> append(Tree tree, std::string_view key, std::string_view value);
  /// True when the key was there.
  Expected<bool> erase(Tree tree, std::string_view key);
  Expected<void> clear(Tree tree);
  bool map_full() const { return map_full_; }
  /// Rows put, appended and erased so far: what a part of the transaction wrote is the difference.
  std::uint64_t writes() const { return writes_; }
  /// Runs `body` as a transaction inside this one: unless it says true, what it wrote is undone. No cursor may be open
  /// meanwhile that was opened before. Errors as of put, and those of `body`.
  Expected<void> nested(FunctionRef<Expected<bool>()> body);

 private:
  friend class Environment;
  WriteTransaction(const Environment& environment, MDB_txn* handle) : environment_(environment) { handle_ = handle; }
  Expected<void> note(int code, const char* action);
  const Environment& environment_;
  std::uint64_t writes_ = 0;
  bool map_full_ = false;
};

/// Walks a tree in key order. RAII; must not outlive its transaction.
class Cursor {
 public:
  /// All throw std::bad_alloc, or ReadFailure at a page LMDB cannot read: an end where there is none would be worse.
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

 private:
  std::optional<KeyValue> step(MDB_cursor_op operation, std::string_view key = {});
  MDB_cursor* handle_ = nullptr;
};

/// An LMDB environment (one folder): the one place that calls LMDB.
///
/// Thread-safe. Opens on first use and can be closed while idle; the map grows online. Any thread may read; writes come
/// from one thread at a time (the caller's duty: PhysicalPartition's queue, or a mutex).
///
/// A commit that the disk failed is an error and stays one. What it left behind is settled before the next write
/// (environment_write.cpp); reads see what was acknowledged, or what has been made durable since, and nothing between.
class Environment {
 public:
  struct Options {
    std::filesystem::path folder;
    std::vector<std::string> trees;  ///< created on first open; handles in this order by tree(i)
    config::Durability durability = config::Durability::commit;
    std::uint64_t map_bytes_initial = 16ULL << 20;  ///< the least; much more is reserved where there is room
    /// Tests of growth keep the map small with it.
    std::uint64_t map_bytes_reserved_max = ~std::uint64_t{0};
    FaultInjector* faults = nullptr;  ///< tests' only
  };

  explicit Environment(Options options);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  /// Creates the folder and an empty environment, synced to disk. After an error no file of it is left.
  Expected<void> create();
  /// As create(), but in a folder beside it that is renamed: after a power loss there is a whole environment or none.
  /// For those of which nothing else tells whether their creation came to its end.
  Expected<void> create_whole();
  /// Opens if closed. Errors: io_failure, corrupted (missing, cut off, damaged: see check_roots).
  Expected<void> open();
  /// Closes when no transaction is running within `patience`; false when busy.
  bool close_if_idle();
  bool is_open() const { return open_.load(std::memory_order_acquire) != nullptr; }

  Tree tree(std::size_t index) const { return trees_[index]; }

  Expected<ReadTransaction> read();
  /// Runs `body` in a write transaction and commits it; durable on return as Options::durability says. When the map is
  /// full the transaction is abandoned, the map grown, and `body` run again: it must have no other effects. An error
  /// or exception from `body` aborts. `expected_bytes` is a hint for growing beforehand.
  /// Errors: disk_full: nothing was written. io_failure: the disk failed, and only reading tells whether the write is
  /// there; it is not run again. overloaded: no memory or descriptors, or the map must grow and readers stay inside;
  /// nothing was written.
  Expected<void> write(std::size_t expected_bytes, FunctionRef<Expected<void>(WriteTransaction&)> body);

  /// Everything that readers have seen so far is on the disk on return; nothing to do with Durability::ephemeral.
  Expected<void> sync() const;

  /// Disk space for the next `bytes` of new pages: writes can use it when the disk is full by then. Where the file
  /// system cannot do that, nothing happens. Not beside a write. Error: disk_full, also when only a part is there.
  Expected<void> reserve_space(std::uint64_t bytes);

  /// Steady-clock milliseconds of the last transaction: for closing the least recently used.
  std::uint64_t last_used_ms() const { return last_used_ms_.load(std::memory_order_relaxed); }
  struct Sizes {
    std::uint64_t file_bytes = 0;  ///< pages in use or once used
    std::uint64_t used_bytes = 0;  ///< file less free pages
    std::uint64_t map_bytes = 0;
  };
  Expected<Sizes> sizes();
  /// Every page of the file is in a tree, on the list of free pages, or a meta page.
  struct PageCensus {
    std::uint64_t in_trees = 0;
    std::uint64_t free = 0;
    std::uint64_t meta = 0;
    std::uint64_t total = 0;
    bool newest = true;  ///< false: something was written since the snapshot, and `total` counts its pages too
  };
  PageCensus page_census(const ReadTransaction& transaction) const;
  const Options& options() const { return options_; }

 private:
  friend class ReadTransaction;
  friend class WriteTransaction;

  /// Readers announce themselves in the slot of their thread, so that they share no cache line; whoever must have the
  /// environment alone (to grow the map, to close) closes the gate and waits for all slots to empty.
  struct alignas(64) ReaderSlot {
    std::atomic<std::uint32_t> active{0};
    std::atomic<MDB_txn*> pooled{nullptr};
  };
  static constexpr std::size_t kReaderSlots = 32;
  /// How long to wait for readers to leave, and how long they wait for a closed gate. Without a limit, two writers that
  /// wait for readers, each of which waits at the other's gate, would wait for ever.
  static constexpr std::chrono::milliseconds kGatePatience{2000};
  class ExclusiveGate;
  class Stay;
  struct HandleCloser {
    std::uint64_t map_bytes = 0;
    void operator()(MDB_env* env) const;
  };
  using Handle = std::unique_ptr<MDB_env, HandleCloser>;
  struct Attempt;

  int fault(StorageCall call) const {
    return options_.faults == nullptr ? 0 : options_.faults->before(call, options_.folder);
  }
  std::optional<std::size_t> enter();
  void leave(std::size_t slot_index);
  Expected<Handle> open_handle() const;
  Expected<Handle> map_file(std::uint64_t map_bytes, std::uint64_t map_bytes_min) const;
  Expected<void> open_trees(MDB_env* env);
  Expected<void> open_alone(bool for_writing);
  Expected<void> reopen(const MDB_env* failed);
  void close_handle();
  void abort_pooled();
  int begin_reading(MDB_env* env, std::size_t slot_index, MDB_txn*& transaction);
  Expected<void> grow(std::uint64_t map_bytes_min);
  Expected<void> settle();
  Expected<void> make_durable(MDB_env* env);
  int commit(MDB_txn* transaction);
  Attempt try_to_write(std::size_t expected_bytes, FunctionRef<Expected<void>(WriteTransaction&)> body);
  void touch();

  Options options_;
  bool creating_ = false;  ///< inside create(): a file that is not there is made
  std::vector<Tree> trees_;
  std::unique_ptr<ReaderSlot[]> slots_;
  std::atomic<MDB_env*> open_{nullptr};
  std::uint64_t map_bytes_ = 0;  ///< of open_; changed by whoever has the environment alone
  std::atomic<bool> gate_closed_{false};
  std::mutex gate_mutex_;
  std::atomic<std::uint64_t> last_used_ms_{0};
  /// Steady-clock milliseconds: before it, growing does not wait for readers.
  std::atomic<std::uint64_t> grow_patiently_from_ms_{0};
  /// A commit failed on the disk: what it left there is not certain before settle().
  std::atomic<bool> unsettled_{false};
  /// LMDB's number of the last transaction that is known to be durable (as Options::durability says).
  std::atomic<std::uint64_t> acknowledged_{0};
};

}  // namespace octavo::storage

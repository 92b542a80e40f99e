#include "storage/lmdb/store.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <lmdb.h>

#include "base/assert.h"
#include "base/folder.h"
#include "base/thread_ordinal.h"
#include "storage/lmdb/internal/address_space.h"
#include "storage/lmdb/internal/exclusive_gate.h"
#include "storage/lmdb/internal/lmdb_error.h"
#include "storage/lmdb/internal/page_check.h"
#include "storage/lmdb/internal/row_log.h"

namespace octavo::storage {
namespace {

constexpr unsigned readers_max = 512;
/// Size of LMDB's reader table with readers_max entries, in whole pages.
constexpr off_t lock_file_bytes = 9 * 4096;
constexpr int read_attempts_max = 8;
constexpr const char* data_file = "data.mdb";
constexpr const char* lock_file = "lock.mdb";
constexpr const char* draft_folder_name = "new";
constexpr mdb_mode_t file_mode = 0600;  // documents are private to the server's user

/// LMDB writes to its lock file through a map: on a full disk, a hole in the file would end the process by SIGBUS.
Expected<void> reserve_lock_file(const std::filesystem::path& folder) {
  const auto path = folder / lock_file;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, file_mode);
  if (descriptor < 0) return std::unexpected(error_of(errno, "opening the lock file", folder));
  struct stat file{};
  int code = 0;
  if (::fstat(descriptor, &file) != 0) {
    code = errno;
  } else if (file.st_size < lock_file_bytes || file.st_blocks * 512 < lock_file_bytes) {
    code = ::posix_fallocate(descriptor, 0, lock_file_bytes);
  }
  ::close(descriptor);
  if (code != 0) return std::unexpected(error_of(code, "reserving the lock file", folder));
  return {};
}

Expected<void> sync_names_in(const std::filesystem::path& folder) {
  std::error_code error;
  sync_folder(folder, error);
  if (error) return std::unexpected(error_of(error.value(), "syncing the folder", folder));
  return {};
}

unsigned durability_flags(config::Durability durability) {
  switch (durability) {
    case config::Durability::commit:
      return 0;
    case config::Durability::relaxed:
      return MDB_NOMETASYNC;
    case config::Durability::ephemeral:
      return MDB_NOSYNC;
  }
  return 0;
}

/// Number of transactions of each store that the thread holds. A thread that holds one passes a closed gate: if
/// it waited there, it would deadlock with the thread that waits for it to leave.
std::uint32_t& held_by_this_thread(const Store* store) {
  thread_local std::vector<std::pair<const Store*, std::uint32_t>> held;
  std::pair<const Store*, std::uint32_t>* unused = nullptr;
  for (auto& entry : held) {
    if (entry.first == store) return entry.second;
    if (entry.second == 0) unused = &entry;
  }
  if (unused != nullptr) {
    unused->first = store;
    return unused->second;
  }
  return held.emplace_back(store, 0).second;
}

}  // namespace

StorageEngine storage_engine() {
  return {"lmdb", MDB_VERSION_STRING};
}

Store::Store(Options options)
    : options_(std::move(options)),
      trees_(options_.trees.size()),
      slots_(std::make_unique<ReaderSlot[]>(reader_slots)) {}

Store::~Store() {
  close_handle();
}

void Store::touch() {
  // Only when stale, so that readers of one store do not contend for the cache line.
  const std::uint64_t now = steady_now_ms();
  if (now - last_used_ms_.load(std::memory_order_relaxed) > 1000) last_used_ms_.store(now, std::memory_order_relaxed);
}

// Afterwards a power loss removes neither the folder nor its files.
Expected<void> Store::sync_names() const {
  if (const int code = fault(StorageCall::sync); code != 0) {
    return std::unexpected(error_of(code, "syncing the folder", options_.folder));
  }
  OCTAVO_TRY_VOID(sync_names_in(options_.folder));
  return sync_names_in(options_.folder.parent_path());
}

// Until the folder is synced, a power loss may bring the old file back: nothing may be acknowledged in the new one.
Expected<void> Store::sync_replacement() {
  if (!replacement_unsynced_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(replacement_mutex_);
  if (!replacement_unsynced_.load(std::memory_order_acquire)) return {};
  if (const int code = fault(StorageCall::sync); code != 0) {
    return std::unexpected(error_of(code, "syncing the folder", options_.folder));
  }
  OCTAVO_TRY_VOID(sync_names_in(options_.folder));
  replacement_unsynced_.store(false, std::memory_order_release);
  return {};
}

// A thread that writes all the time would otherwise take the turn again before one that waits wakes up.
std::unique_lock<std::mutex> Store::take_turn() {
  const std::lock_guard queue(turn_queue_);
  return std::unique_lock(write_turn_);
}

// A compaction (StoreCompaction) makes the new file there.
std::filesystem::path Store::draft_folder() const {
  return options_.folder / draft_folder_name;
}

std::size_t Store::index_of(Tree tree) const {
  const auto found = std::ranges::find(trees_, tree.handle, &Tree::handle);
  OCTAVO_ASSERT(found != trees_.end());
  return static_cast<std::size_t>(found - trees_.begin());
}

Expected<void> Store::create() {
  std::error_code error;
  bool made_folder = false;
  if (const int code = fault(StorageCall::create_folder); code != 0) {
    error.assign(code, std::generic_category());
  } else {
    made_folder = std::filesystem::create_directories(options_.folder, error);
  }
  if (error) return std::unexpected(error_of(error.value(), "creating the folder", options_.folder));
  const bool existed = std::filesystem::exists(options_.folder / data_file, error);
  const auto make = [&]() -> Expected<void> {
    creating_ = true;
    auto opened = open();
    creating_ = false;
    OCTAVO_TRY_VOID(opened);
    if (options_.durability == config::Durability::ephemeral) return {};
    return sync_names();
  };
  auto made = make();
  if (!made && !existed) {
    // A file that was cut short on a full disk could not be opened later.
    close_handle();
    std::filesystem::remove(options_.folder / data_file, error);
    std::filesystem::remove(options_.folder / lock_file, error);
    if (made_folder) std::filesystem::remove(options_.folder, error);
  }
  return made;
}

Expected<void> Store::create_whole() {
  std::error_code error;
  if (std::filesystem::exists(options_.folder / data_file, error)) return create();
  Options draft = options_;
  draft.folder += ".new";
  remove_folder(draft.folder, error);
  OCTAVO_TRY_VOID(Store(draft).create());
  std::filesystem::remove(options_.folder / lock_file, error);
  std::filesystem::rename(draft.folder, options_.folder, error);
  if (error) return std::unexpected(error_of(error.value(), "naming the folder", options_.folder));
  return create();
}

Expected<void> Store::create_again() {
  const auto turn = take_turn();
  if (row_log_ != nullptr) row_log_->break_off();  // a compaction copies rows that are removed now
  {
    ExclusiveGate gate(*this, gate_patience);
    if (!gate.alone()) return gate_stays_closed();
    close_handle();
    // Both concern the file that is removed.
    unsettled_.store(false, std::memory_order_release);
    replacement_unsynced_.store(false, std::memory_order_release);
  }
  std::error_code error;
  remove_folder(options_.folder, error);
  if (error) return std::unexpected(error_of(error.value(), "removing the files", options_.folder));
  return create_whole();
}

bool Store::exists_in(const std::filesystem::path& folder) {
  std::error_code unknown;
  return std::filesystem::exists(folder / data_file, unknown) || unknown;
}

std::optional<std::uint64_t> Store::file_bytes_in(const std::filesystem::path& folder) {
  std::error_code unknown;
  const std::uint64_t bytes = std::filesystem::file_size(folder / data_file, unknown);
  return unknown ? std::nullopt : std::optional(bytes);
}

void Store::HandleCloser::operator()(MDB_env* env) const {
  mdb_env_close(env);
  return_address_space(map_bytes);
}

Expected<Store::Handle> Store::open_handle() const {
  if (const int code = fault(StorageCall::open); code != 0) {
    return std::unexpected(error_of(code, "opening", options_.folder));
  }
  std::error_code missing;
  const auto file_bytes = std::filesystem::file_size(options_.folder / data_file, missing);
  // LMDB would trust a damaged file, and would create a missing one again.
  if (!missing && file_bytes > 0) {
    OCTAVO_TRY_VOID(check_roots(options_.folder, options_.trees));
  } else if (!creating_) {
    return fail(ErrorCode::corrupted, fmt::format("{} is missing or empty", (options_.folder / data_file).string()));
  }
  OCTAVO_TRY_VOID(reserve_lock_file(options_.folder));
  // Room beyond the file, so that the first writes after a restart need not grow the map at once.
  const std::uint64_t known_bytes = missing ? 0 : file_bytes;
  const std::uint64_t map_bytes_min = std::max(options_.capacity_bytes_initial, known_bytes + known_bytes / 4);
  const std::uint64_t map_bytes = map_bytes_to_reserve(known_bytes, map_bytes_min);
  return map_file(std::max(map_bytes_min, std::min(map_bytes, options_.capacity_bytes_reserved_max)), map_bytes_min);
}

// Retries with smaller maps if there is no room for a large one.
Expected<Store::Handle> Store::map_file(std::uint64_t map_bytes, std::uint64_t map_bytes_min) const {
  map_bytes = (map_bytes + 0xFFFF) & ~std::uint64_t{0xFFFF};
  MDB_env* created = nullptr;
  int code = mdb_env_create(&created);
  if (code != 0) return std::unexpected(error_of(code, "opening", options_.folder));
  mdb_env_set_mapsize(created, map_bytes);
  take_address_space(map_bytes);
  Handle env(created, HandleCloser{map_bytes});
  mdb_env_set_maxdbs(env.get(), static_cast<MDB_dbi>(options_.trees.size()));
  mdb_env_set_maxreaders(env.get(), readers_max);
  // No MDB_NOMEMINIT: unset bytes of new pages would write former heap content, perhaps passwords, to the disk.
  const unsigned flags = MDB_NOTLS | durability_flags(options_.durability);
  code = mdb_env_open(env.get(), options_.folder.c_str(), flags, file_mode);
  if (code == ENOMEM && map_bytes > map_bytes_min) {
    env.reset();
    return map_file(std::max(map_bytes / 2, map_bytes_min), map_bytes_min);
  }
  if (code != 0) return std::unexpected(error_of(code, "opening", options_.folder));
  int dead_readers = 0;
  mdb_reader_check(env.get(), &dead_readers);  // slots left by a killed process
  return env;
}

std::uint32_t Store::handle_of_long_keys(std::span<const Tree> opened) const {
  const auto name = std::ranges::find(options_.trees, tree_of_long_keys);
  if (name == options_.trees.end()) return Tree::missing;
  return opened[static_cast<std::size_t>(name - options_.trees.begin())].handle;
}

// Opens all trees in one transaction of LMDB. Those that the file lacks are created, or noted as missing. After an
// error nothing has changed.
int Store::open_trees_once(MDB_env* env, bool creates) {
  std::vector<Tree> opened(trees_.size());
  bool missing = false;
  MDB_txn* transaction = nullptr;
  int code = creates ? fault(StorageCall::begin_write) : 0;
  if (code == 0) code = mdb_txn_begin(env, nullptr, creates ? 0 : MDB_RDONLY, &transaction);
  for (std::size_t i = 0; code == 0 && i < opened.size(); ++i) {
    code = mdb_dbi_open(transaction, options_.trees[i].c_str(), creates ? MDB_CREATE : 0, &opened[i].handle);
    if (code != MDB_NOTFOUND || creates) continue;
    opened[i].handle = Tree::missing;
    missing = true;
    code = 0;
  }
  if (code == 0) {
    code = creates ? commit(transaction) : mdb_txn_commit(transaction);
  } else if (transaction != nullptr) {
    mdb_txn_abort(transaction);
  }
  if (code != 0) return code;
  const std::uint32_t long_keys = handle_of_long_keys(opened);
  for (Tree& tree : opened) tree.long_keys = long_keys;
  // LMDB gives the same handles in the same order. They are not written again, as other threads may read them.
  for (std::size_t i = 0; i < opened.size(); ++i) {
    if (trees_[i] != opened[i]) trees_[i] = opened[i];
  }
  trees_missing_.store(missing, std::memory_order_release);
  return 0;
}

Expected<void> Store::open_trees(MDB_env* env) {
  OCTAVO_ASSERT(env != nullptr && trees_.size() == options_.trees.size());
  int code = open_trees_once(env, false);
  // Writes only if a tree is missing: opening a thousand databases must not cost a thousand syncs.
  if (code == 0 && trees_missing_.load(std::memory_order_acquire)) {
    code = open_trees_once(env, true);
    // A file of an older version on a full disk: what it has can be read. The next write tries again.
    if (is_disk_full(code) && !creating_) code = 0;
  }
  if (code != 0) return std::unexpected(error_of(code, "opening the trees", options_.folder));
  return {};
}

// Called in the write turn.
Expected<void> Store::create_missing_trees() {
  if (!trees_missing_.load(std::memory_order_acquire)) return {};
  ExclusiveGate gate(*this, gate_patience);
  if (!gate.alone()) return gate_stays_closed();
  MDB_env* env = open_.load(std::memory_order_acquire);
  if (env == nullptr) return {};  // the trees are created when it is opened
  OCTAVO_TRY_VOID(open_trees(env));
  if (!trees_missing_.load(std::memory_order_acquire)) return {};
  return std::unexpected(error_of(ENOSPC, "creating trees", options_.folder));
}

Expected<void> Store::open() {
  if (is_open()) return {};
  ExclusiveGate gate(*this, gate_patience);
  if (is_open()) return {};
  if (!gate.alone()) return gate_stays_closed();
  return open_alone(false);
}

void Store::abort_pooled() {
  for (std::size_t i = 0; i < reader_slots; ++i) {
    if (MDB_txn* pooled = slots_[i].pooled.exchange(nullptr, std::memory_order_acq_rel)) mdb_txn_abort(pooled);
  }
}

void Store::close_handle() {
  MDB_env* env = open_.exchange(nullptr, std::memory_order_seq_cst);
  if (env == nullptr) return;
  abort_pooled();
  HandleCloser{map_bytes_}(env);
}

bool Store::close_if_idle() {
  ExclusiveGate gate(*this, std::chrono::milliseconds{0});
  if (!gate.alone()) return false;
  close_handle();
  return true;
}

// nullopt: the gate stayed closed.
std::optional<std::size_t> Store::enter() {
  const std::size_t slot_index = thread_ordinal() % reader_slots;
  std::atomic<std::uint32_t>& active = slots_[slot_index].active;
  std::uint32_t& held = held_by_this_thread(this);
  std::optional<std::chrono::steady_clock::time_point> deadline;
  while (true) {
    active.fetch_add(1, std::memory_order_seq_cst);
    if (held != 0 || !gate_closed_.load(std::memory_order_seq_cst)) {
      ++held;
      return slot_index;
    }
    active.fetch_sub(1, std::memory_order_seq_cst);
    if (!deadline) deadline = std::chrono::steady_clock::now() + gate_patience;
    while (gate_closed_.load(std::memory_order_seq_cst)) {
      if (std::chrono::steady_clock::now() >= *deadline) return std::nullopt;
      std::this_thread::sleep_for(gate_pause);
    }
  }
}

void Store::leave(std::size_t slot_index) {
  --held_by_this_thread(this);
  const std::uint32_t active = slots_[slot_index].active.fetch_sub(1, std::memory_order_release);
  OCTAVO_ASSERT(active > 0);
}

// Does the same as mdb_txn_begin, but takes a transaction from the pool if possible.
int Store::begin_reading(MDB_env* env, std::size_t slot_index, MDB_txn*& transaction) {
  if (const int code = fault(StorageCall::begin_read); code != 0) return code;
  transaction = slots_[slot_index].pooled.exchange(nullptr, std::memory_order_acq_rel);
  if (transaction != nullptr) {
    const int code = mdb_txn_renew(transaction);
    if (code != 0) mdb_txn_abort(transaction);
    return code;
  }
  const int code = mdb_txn_begin(env, nullptr, MDB_RDONLY, &transaction);
  if (code != MDB_READERS_FULL) return code;
  abort_pooled();  // other threads' idle transactions hold reader slots
  return mdb_txn_begin(env, nullptr, MDB_RDONLY, &transaction);
}

Expected<ReadTransaction> Store::read() {
  int code = 0;
  for (int attempt = 0; attempt < read_attempts_max; ++attempt) {
    const MDB_env* failed = nullptr;
    {
      Stay stay(*this);
      if (!stay.inside()) return gate_stays_closed();
      if (MDB_env* env = open_.load(std::memory_order_seq_cst); env != nullptr) {
        touch();
        MDB_txn* transaction = nullptr;
        code = begin_reading(env, stay.slot(), transaction);
        if (code == 0) return ReadTransaction(this, transaction, stay.hand_over());
        failed = env;
      }
    }
    if (failed == nullptr) {
      OCTAVO_TRY_VOID(open());
    } else if (code == MDB_PANIC) {
      OCTAVO_TRY_VOID(reopen(failed));
    } else {
      break;
    }
  }
  return std::unexpected(error_of(code, "beginning to read", options_.folder));
}

Store::PageCensus Store::page_census(const ReadTransaction& transaction) const {
  constexpr Tree free_pages{0};  // LMDB's list: each value is an array of page numbers, preceded by its length
  constexpr Tree named_trees{1};
  PageCensus census;
  census.meta = 2;
  const auto add_tree = [&](Tree tree) {
    MDB_stat statistics;
    if (mdb_stat(transaction.handle_, tree.handle, &statistics) != 0) return;
    census.in_trees += statistics.ms_branch_pages + statistics.ms_leaf_pages + statistics.ms_overflow_pages;
  };
  add_tree(free_pages);
  add_tree(named_trees);
  for (const Tree tree : trees_) add_tree(tree);
  Cursor cursor(transaction, free_pages);
  for (auto row = cursor.first(); row; row = cursor.next()) {
    std::size_t count = 0;
    if (row->value.size() >= sizeof(count)) std::memcpy(&count, row->value.data(), sizeof(count));
    census.free += count;
  }
  MDB_envinfo info;
  mdb_env_info(mdb_txn_env(transaction.handle_), &info);
  census.total = info.me_last_pgno + 1;
  census.newest = info.me_last_txnid == mdb_txn_id(transaction.handle_);
  return census;
}

std::optional<std::string> Store::lost_space(const ReadTransaction& transaction) const {
  const PageCensus pages = page_census(transaction);
  if (!pages.newest || pages.in_trees + pages.free + pages.meta == pages.total) return std::nullopt;
  return fmt::format("pages: {} in trees, {} free and {} meta do not make the {} of the file", pages.in_trees,
                     pages.free, pages.meta, pages.total);
}

Expected<Store::Sizes> Store::sizes() {
  OCTAVO_TRY(const ReadTransaction transaction, read());
  MDB_env* env = mdb_txn_env(transaction.handle_);
  MDB_envinfo info;
  mdb_env_info(env, &info);
  MDB_stat statistics;
  mdb_env_stat(env, &statistics);
  const PageCensus census = page_census(transaction);
  Sizes sizes;
  sizes.file_bytes = census.total * statistics.ms_psize;
  sizes.used_bytes = (census.total - std::min(census.total, census.free)) * statistics.ms_psize;
  sizes.capacity_bytes = info.me_mapsize;
  return sizes;
}

}  // namespace octavo::storage

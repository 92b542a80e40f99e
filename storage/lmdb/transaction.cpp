// Transactions and cursors, as declared in storage/lmdb/store.h.
#include <cerrno>
#include <new>
#include <utility>

#include <lmdb.h>

#include "base/assert.h"
#include "base/read_failure.h"
#include "storage/lmdb/internal/lmdb_error.h"
#include "storage/lmdb/internal/row_log.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {
namespace {

MDB_val to_val(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}
std::string_view to_view(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

/// What a row takes of a leaf. A value for which two rows would not fit into a page has pages of its own.
std::size_t bytes_in_leaf(std::size_t page_bytes, std::size_t key_bytes, std::size_t value_bytes) {
  constexpr std::size_t page_head_bytes = 16;
  constexpr std::size_t row_header_bytes = 8;
  constexpr std::size_t row_offset_bytes = 2;
  constexpr std::size_t page_number_bytes = 8;
  const std::size_t bytes_max = (page_bytes - page_head_bytes) / 2 - row_offset_bytes;
  const std::size_t bytes = row_header_bytes + key_bytes + value_bytes;
  return bytes <= bytes_max ? bytes : row_header_bytes + key_bytes + page_number_bytes;
}

}  // namespace

// --- transactions ---

Expected<std::optional<std::string_view>> Transaction::get(Tree tree, std::string_view key) const {
  OCTAVO_ASSERT(handle_ != nullptr);
  MDB_val wanted = to_val(key);
  MDB_val found;
  const int code = mdb_get(handle_, tree.handle, &wanted, &found);
  if (code == 0) return to_view(found);
  // LMDB rejects empty keys; for a reader such a key does not exist.
  if (code == MDB_NOTFOUND || code == MDB_BAD_VALSIZE || tree.handle == Tree::missing) return std::nullopt;
  return std::unexpected(error_of(code, "reading", mdb_txn_env(handle_) != nullptr ? "the store" : ""));
}

ReadTransaction::ReadTransaction(Store* store, MDB_txn* handle, std::size_t slot) : store_(store), slot_(slot) {
  OCTAVO_ASSERT(store != nullptr && handle != nullptr);
  handle_ = handle;
}

ReadTransaction::ReadTransaction(ReadTransaction&& other) noexcept
    : store_(std::exchange(other.store_, nullptr)), slot_(other.slot_) {
  handle_ = std::exchange(other.handle_, nullptr);
}

ReadTransaction& ReadTransaction::operator=(ReadTransaction&& other) noexcept {
  if (this != &other) {
    end();
    store_ = std::exchange(other.store_, nullptr);
    handle_ = std::exchange(other.handle_, nullptr);
    slot_ = other.slot_;
  }
  return *this;
}

ReadTransaction::~ReadTransaction() {
  end();
}

void ReadTransaction::end() {
  if (handle_ == nullptr) return;
  OCTAVO_ASSERT(store_ != nullptr && slot_ < Store::reader_slots);
  Store::ReaderSlot& slot = store_->slots_[slot_];
  mdb_txn_reset(handle_);
  MDB_txn* expected = nullptr;
  if (!slot.pooled.compare_exchange_strong(expected, handle_, std::memory_order_acq_rel)) mdb_txn_abort(handle_);
  handle_ = nullptr;
  store_->leave(slot_);
}

WriteTransaction::~WriteTransaction() {
  if (handle_ != nullptr) mdb_txn_abort(handle_);
}

Expected<void> WriteTransaction::note(int code, const char* action) {
  if (code == 0) return {};
  if (code == MDB_MAP_FULL) map_full_ = true;
  return std::unexpected(error_of(code, action, store_.options().folder));
}

// Before the call on LMDB, which may overwrite the pages that `key` and `value` point into.
void WriteTransaction::log_row(Tree tree, std::string_view key, std::optional<std::string_view> value) {
  if (store_.row_log_ != nullptr) store_.row_log_->add(store_.index_of(tree), key, value);
}

Expected<void> WriteTransaction::put(Tree tree, std::string_view key, std::string_view value) {
  OCTAVO_ASSERT(handle_ != nullptr);
  log_row(tree, key, value);
  MDB_val k = to_val(key);
  MDB_val v = to_val(value);
  const int fault = store_.fault(StorageCall::put);
  ++writes_;
  return note(fault != 0 ? fault : mdb_put(handle_, tree.handle, &k, &v, 0), "writing");
}

Expected<void> WriteTransaction::put_over(Tree tree, std::string_view key, std::string_view value,
                                          std::size_t old_value_bytes) {
  OCTAVO_ASSERT(handle_ != nullptr);
  if (old_value_bytes > value.size()) {
    MDB_stat statistics{};
    OCTAVO_TRY_VOID(note(mdb_stat(handle_, tree.handle, &statistics), "reading"));
    const std::size_t old_bytes = bytes_in_leaf(statistics.ms_psize, key.size(), old_value_bytes);
    const std::size_t new_bytes = bytes_in_leaf(statistics.ms_psize, key.size(), value.size());
    if (old_bytes >= new_bytes + statistics.ms_psize / 8) OCTAVO_TRY_VOID(erase(tree, key));
  }
  return put(tree, key, value);
}

Expected<void> WriteTransaction::append(Tree tree, std::string_view key, std::string_view value) {
  OCTAVO_ASSERT(handle_ != nullptr);
  log_row(tree, key, value);
  MDB_val k = to_val(key);
  MDB_val v = to_val(value);
  const int fault = store_.fault(StorageCall::put);
  const int code = fault != 0 ? fault : mdb_put(handle_, tree.handle, &k, &v, MDB_APPEND);
  // Not the greatest key after all: use a plain put, which is only slower.
  if (code == MDB_KEYEXIST) return put(tree, key, value);
  ++writes_;
  return note(code, "appending");
}

Expected<bool> WriteTransaction::erase(Tree tree, std::string_view key) {
  OCTAVO_ASSERT(handle_ != nullptr);
  log_row(tree, key, std::nullopt);
  MDB_val k = to_val(key);
  const int fault = store_.fault(StorageCall::erase);
  const int code = fault != 0 ? fault : mdb_del(handle_, tree.handle, &k, nullptr);
  if (code == MDB_NOTFOUND) return false;
  ++writes_;
  OCTAVO_TRY_VOID(note(code, "deleting"));
  return true;
}

Expected<void> WriteTransaction::nested(FunctionRef<Expected<bool>()> body) {
  OCTAVO_ASSERT(handle_ != nullptr);
  MDB_txn* const outer = handle_;
  MDB_txn* inner = nullptr;
  OCTAVO_TRY_VOID(note(mdb_txn_begin(mdb_txn_env(outer), outer, 0, &inner), "beginning"));
  RowLog* const row_log = store_.row_log_;
  /// Restores this transaction's handle, however `body` ends.
  struct Inner {
    WriteTransaction& transaction;
    MDB_txn* outer;
    RowLog* row_log;
    std::size_t mark;
    ~Inner() {
      if (transaction.handle_ == outer) return;
      mdb_txn_abort(std::exchange(transaction.handle_, outer));
      if (row_log != nullptr) row_log->cut(mark);
    }
  };
  Inner guard{*this, outer, row_log, row_log == nullptr ? 0 : row_log->mark()};
  handle_ = inner;
  OCTAVO_TRY(const bool keep, body());
  if (!keep) return {};
  return note(mdb_txn_commit(std::exchange(handle_, outer)), "committing");
}

// --- cursor ---

namespace {
[[noreturn]] void throw_read_failure(int code, const MDB_txn* transaction) {
  if (code == ENOMEM) throw std::bad_alloc();
  const char* folder = "";
  mdb_env_get_path(mdb_txn_env(const_cast<MDB_txn*>(transaction)), &folder);
  throw ReadFailure(error_of(code, "reading", folder));
}
}  // namespace

Cursor::Cursor(const Transaction& transaction, Tree tree) {
  OCTAVO_ASSERT(transaction.handle_ != nullptr);
  if (tree.handle == Tree::missing) return;
  if (const int code = mdb_cursor_open(transaction.handle_, tree.handle, &handle_); code != 0) {
    throw_read_failure(code, transaction.handle_);
  }
}

Cursor Cursor::beside(Tree tree) const {
  Cursor other;
  if (handle_ == nullptr || tree.handle == Tree::missing) return other;
  MDB_txn* const transaction = mdb_cursor_txn(handle_);
  if (const int code = mdb_cursor_open(transaction, tree.handle, &other.handle_); code != 0) {
    throw_read_failure(code, transaction);
  }
  return other;
}

Cursor::Cursor(Cursor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

Cursor& Cursor::operator=(Cursor&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

Cursor::~Cursor() {
  if (handle_ != nullptr) mdb_cursor_close(handle_);
}

std::optional<KeyValue> Cursor::step(int operation, std::string_view key) {
  if (handle_ == nullptr) return std::nullopt;
  MDB_val k = to_val(key);
  MDB_val v;
  const int code = mdb_cursor_get(handle_, &k, &v, static_cast<MDB_cursor_op>(operation));
  if (code == MDB_NOTFOUND) return std::nullopt;
  if (code != 0) throw_read_failure(code, mdb_cursor_txn(handle_));
  // LMDB stores no empty key, but finds some in a page of other bytes. To the caller they would be beyond its range.
  if (k.mv_size == 0) throw_read_failure(MDB_CORRUPTED, mdb_cursor_txn(handle_));
  return KeyValue{to_view(k), to_view(v)};
}

std::optional<KeyValue> Cursor::seek(std::string_view key) {
  return key.empty() ? first() : step(MDB_SET_RANGE, key);
}

std::optional<KeyValue> Cursor::seek_back(std::string_view key) {
  if (key.empty()) return std::nullopt;  // no stored key is empty
  auto found = step(MDB_SET_RANGE, key);
  if (!found) return last();
  return found->key == key ? found : previous();
}

std::optional<KeyValue> Cursor::first() {
  return step(MDB_FIRST);
}
std::optional<KeyValue> Cursor::last() {
  return step(MDB_LAST);
}
std::optional<KeyValue> Cursor::next() {
  return step(MDB_NEXT);
}
std::optional<KeyValue> Cursor::previous() {
  return step(MDB_PREV);
}

std::uint64_t count_rows(const Transaction& transaction, Tree tree) {
  std::uint64_t rows = 0;
  Cursor cursor(transaction, tree);
  for (auto row = cursor.first(); row; row = cursor.next()) ++rows;
  return rows;
}

}  // namespace octavo::storage

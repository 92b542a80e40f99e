#include "query/project/projection_state.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "base/byte_codec.h"
#include "base/folder.h"
#include "query/project/internal/settlement.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::query::project {

namespace {

constexpr std::string_view numbers_key = "numbers";

storage::Store::Options store_options(const ProjectionState::Options& options) {
  storage::Store::Options store;
  store.folder = options.folder;
  store.trees = {"meta",  "sources", "rows",   "claims",
                 "ranks", "refused", "outbox", std::string(storage::tree_of_long_keys)};
  // A write of the target must not survive a power loss that the decision to write it does not.
  store.durability =
      options.durability == config::Durability::ephemeral ? options.durability : config::Durability::commit;
  store.capacity_bytes_initial = 1ULL << 20;
  store.faults = options.faults;
  return store;
}

std::size_t bytes_of(const ProjectionState::Batch& batch) {
  std::size_t bytes = 0;
  for (const SourceChange& change : batch.changes) {
    bytes += 512 + 2 * change.id.size();
    if (change.result.row) bytes += change.result.row->body.size() + 4 * change.result.row->id.size();
  }
  return bytes;
}

}  // namespace

ProjectionState::ProjectionState(Options options) : options_(std::move(options)), store_(store_options(options_)) {}

storage::Tree ProjectionState::sources() const {
  return store_.tree(static_cast<std::size_t>(StateTree::sources));
}

Expected<ProjectionState::Numbers> ProjectionState::read_numbers(const storage::Transaction& transaction) const {
  OCTAVO_TRY(const auto stored, transaction.get(store_.tree(static_cast<std::size_t>(StateTree::meta)), numbers_key));
  if (!stored) return Numbers{};
  return decode_numbers(*stored);
}

Expected<void> ProjectionState::open() {
  OCTAVO_TRY_VOID(storage::Store::exists_in(options_.folder) ? store_.open() : store_.create_again());
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  OCTAVO_TRY(const Numbers numbers, read_numbers(transaction));
  const std::lock_guard lock(mutex_);
  numbers_ = numbers;
  return {};
}

ProjectionState::Numbers ProjectionState::numbers() const {
  const std::lock_guard lock(mutex_);
  return numbers_;
}

Expected<bool> ProjectionState::has_effect(std::span<const SourceChange> changes) {
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  for (const SourceChange& change : changes) {
    if (change.result.row || change.result.skip != ProjectedDocument::Skip::none) return true;
    OCTAVO_TRY(const auto known, storage::long_key::get(transaction, sources(), change.id));
    if (known) return true;
  }
  return false;
}

Expected<std::vector<RowWrite>> ProjectionState::commit(const Batch& batch, Evaluate evaluate) {
  Numbers numbers;
  std::vector<RowWrite> writes;
  const auto tree = [this](StateTree name) { return store_.tree(static_cast<std::size_t>(name)); };
  const auto body = [&](storage::WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY(numbers, read_numbers(transaction));
    numbers.checkpoint = batch.checkpoint;
    numbers.purge_count = batch.purge_count;
    numbers.target_sequence = batch.target_sequence;
    if (batch.begins_again) ++numbers.epoch;
    for (const std::string& id : batch.refused) {
      OCTAVO_TRY(const auto known, storage::long_key::get(transaction, tree(StateTree::refused), id));
      if (known) continue;
      OCTAVO_TRY_VOID(storage::long_key::put(transaction, tree(StateTree::refused), id, {}));
      ++numbers.occupied;
    }
    Settlement settlement(transaction, store_, numbers, options_.newest, evaluate);
    for (const std::string& id : batch.again) OCTAVO_TRY_VOID(settlement.look_again(id));
    for (const SourceChange& change : batch.changes) OCTAVO_TRY_VOID(settlement.change(change));
    OCTAVO_TRY(writes, settlement.settle());
    for (std::uint64_t number = 0; number < std::max<std::uint64_t>(writes.size(), numbers.outbox_rows); ++number) {
      std::string key;
      append_key_u64(key, number);
      if (number < writes.size()) {
        OCTAVO_TRY_VOID(transaction.put(tree(StateTree::outbox), key, encode_write(writes[number])));
      } else {
        OCTAVO_TRY_VOID(transaction.erase(tree(StateTree::outbox), key));
      }
    }
    numbers.outbox_rows = writes.size();
    return transaction.put(tree(StateTree::meta), numbers_key, encode_numbers(numbers));
  };
  OCTAVO_TRY_VOID(store_.write(bytes_of(batch), body));
  const std::lock_guard lock(mutex_);
  numbers_ = numbers;
  return writes;
}

Expected<std::vector<RowWrite>> ProjectionState::outbox() {
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  std::vector<RowWrite> writes;
  storage::Cursor cursor(transaction, store_.tree(static_cast<std::size_t>(StateTree::outbox)));
  for (auto row = cursor.first(); row; row = cursor.next()) {
    OCTAVO_TRY(auto write, decode_write(row->value));
    writes.push_back(std::move(write));
  }
  return writes;
}

Expected<std::vector<std::string>> ProjectionState::refused_after(std::string_view after, std::size_t count_max) {
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  std::vector<std::string> ids;
  storage::LongKeyCursor cursor(transaction, store_.tree(static_cast<std::size_t>(StateTree::refused)));
  for (auto row = cursor.seek(after); row && ids.size() < count_max; row = cursor.next()) {
    if (row->key != after) ids.emplace_back(row->key);
  }
  return ids;
}

Expected<std::vector<std::string>> ProjectionState::rows_after(std::string_view after, std::size_t count_max) {
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  std::vector<std::string> ids;
  storage::LongKeyCursor cursor(transaction, store_.tree(static_cast<std::size_t>(StateTree::rows)));
  for (auto row = cursor.seek(after); row && ids.size() < count_max; row = cursor.next()) {
    if (row->key == after) continue;
    OCTAVO_TRY(const RowRecord record, decode_row(row->value));
    if (record.may_be_there) ids.emplace_back(row->key);
  }
  return ids;
}

Expected<bool> ProjectionState::has_row(std::string_view id) {
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  OCTAVO_TRY(const auto stored,
             storage::long_key::get(transaction, store_.tree(static_cast<std::size_t>(StateTree::rows)), id));
  if (!stored) return false;
  OCTAVO_TRY(const RowRecord record, decode_row(*stored));
  return record.may_be_there;
}

void ProjectionState::remove_files() {
  store_.close_if_idle();
  std::error_code error;
  storage::remove_folder(options_.folder, error);
  if (error)
    spdlog::warn("cannot remove the files of a projection in {}: {}", options_.folder.string(), error.message());
}

}  // namespace octavo::query::project

#include "query/index/global/global_index.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "base/folder.h"

namespace octavo::query {

namespace {

constexpr std::uint8_t state_version = 1;
constexpr std::string_view state_key = "state";

// A checkpoint that moves without a change of entries is written only now and then: after a restart those changes are
// read again, without effect. If the tombstones among them were dropped, all documents would have to be looked at.
constexpr storage::Sequence unstored_changes_max = 50'000;

storage::Store::Options store_options(const GlobalIndex::Options& options) {
  storage::Store::Options store;
  store.folder = options.folder;
  store.trees = {"entries", "by_document", "meta", std::string(storage::tree_of_long_keys)};
  store.durability =
      options.durability == config::Durability::ephemeral ? config::Durability::ephemeral : config::Durability::relaxed;
  store.capacity_bytes_initial = 1ULL << 20;
  store.faults = options.faults;
  return store;
}

/// The number of entries where no state has it.
std::uint64_t count_all(const storage::ReadTransaction& transaction, storage::Tree entries) {
  const auto estimate = transaction.rows_estimate(entries, {}, std::nullopt);
  return estimate && estimate->exact ? estimate->rows : storage::long_key::count(transaction, entries);
}

std::string_view field_keys(const GlobalIndex::Change& change) {
  OCTAVO_ASSERT(change.key.ends_with(change.id));
  return std::string_view(change.key).substr(0, change.key.size() - change.id.size());
}

}  // namespace

GlobalIndex::GlobalIndex(IndexDefinitionPtr definition, Options options)
    : definition_(std::move(definition)), options_(std::move(options)), store_(store_options(options_)) {}

void GlobalIndex::remove_files() {
  store_.close_if_idle();
  std::error_code error;
  storage::remove_folder(options_.folder, error);
  if (error) spdlog::warn("cannot remove the index files in {}: {}", options_.folder.string(), error.message());
}

Expected<void> GlobalIndex::open(storage::Sequence last_sequence) {
  const bool exists = storage::Store::exists_in(options_.folder);
  // An interrupted removal may have left other files.
  auto opened = exists ? store_.open() : store_.create_again();
  empty_ = !exists;
  if (!opened && opened.error().code == ErrorCode::corrupted) {
    // Everything in an index can be derived from the documents.
    spdlog::error("{}: the index is built again", reason_of(opened.error()));
    opened = store_.create_again();
    empty_ = true;
  }
  OCTAVO_TRY_VOID(opened);
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  OCTAVO_TRY(const auto stored, state(transaction));
  if (!stored || !stored->is_ready()) return {};
  if (stored->checkpoint > last_sequence) {
    spdlog::warn("index {} of {} knows changes that the database has lost: it is built again", definition_->name,
                 options_.folder.parent_path().string());
    return {};
  }
  checkpoint_.store(stored->checkpoint, std::memory_order_release);
  // Otherwise it may have been catching up.
  if (stored->checkpoint == last_sequence) complete_through_.store(last_sequence, std::memory_order_release);
  stored_checkpoint_ = stored->checkpoint;
  purge_count_.store(stored->purge_count, std::memory_order_release);
  entry_count_.store(stored->entry_count ? *stored->entry_count : count_all(transaction, entries()),
                     std::memory_order_release);
  stage_.store(Stage::ready, std::memory_order_release);
  return {};
}

bool GlobalIndex::State::is_ready() const {
  return version == state_version && stage == Stage::ready;
}

Expected<std::optional<GlobalIndex::State>> GlobalIndex::state(const storage::Transaction& transaction) const {
  OCTAVO_TRY(const auto stored, transaction.get(store_.tree(2), state_key));
  if (!stored) return std::nullopt;
  ByteReader reader(*stored);
  State state;
  state.version = reader.u8();
  state.stage = static_cast<Stage>(reader.u8());
  state.checkpoint = reader.u64();
  state.purge_count = reader.u64();
  if (!reader.rest().empty()) state.entry_count = reader.u64();
  return reader.ok() ? state : State{};
}

// Read from the transaction and not from memory: a commit that the disk reported as failed may have been stored.
Expected<std::uint64_t> GlobalIndex::entry_count(const storage::Transaction& transaction) const {
  OCTAVO_TRY(const auto stored, state(transaction));
  return stored && stored->entry_count ? *stored->entry_count : entry_count();
}

Expected<void> GlobalIndex::put_state(storage::WriteTransaction& transaction, Stage stage, storage::Sequence checkpoint,
                                      std::uint64_t purge_count, std::uint64_t entry_count) const {
  std::string state;
  ByteWriter writer(state);
  writer.u8(state_version);
  writer.u8(static_cast<std::uint8_t>(stage));
  writer.u64(checkpoint);
  writer.u64(purge_count);
  writer.u64(entry_count);
  return transaction.put(store_.tree(2), state_key, state);
}

Expected<bool> GlobalIndex::has_effect(const Change& change, const storage::ReadTransaction& transaction) const {
  OCTAVO_TRY(const auto old, storage::long_key::get(transaction, by_document(), change.id));
  if (!change.present) return old.has_value();
  if (!old || *old != field_keys(change)) return true;
  OCTAVO_TRY(const auto value, storage::long_key::get(transaction, entries(), change.key));
  return !value || *value != change.value;
}

Expected<void> GlobalIndex::put(storage::WriteTransaction& transaction, const Change& change,
                                std::uint64_t& entry_count) const {
  OCTAVO_TRY(const auto old, storage::long_key::get(transaction, by_document(), change.id));
  if (old && (!change.present || *old != field_keys(change))) {
    const std::string old_key = std::string(*old) + change.id;
    OCTAVO_TRY_VOID(storage::long_key::erase(transaction, entries(), old_key));
    if (!change.present) {
      OCTAVO_TRY_VOID(storage::long_key::erase(transaction, by_document(), change.id));
      --entry_count;
    }
  }
  if (!change.present) return {};
  if (!old) ++entry_count;
  OCTAVO_TRY_VOID(storage::long_key::put(transaction, entries(), change.key, change.value));
  return storage::long_key::put(transaction, by_document(), change.id, field_keys(change));
}

// An equal purge count: with a lower one, its checkpoint would pass purges that it has not removed; with a higher one,
// documents that are purged would come back.
bool GlobalIndex::can_follow_with(const FeedChanges& changes) const {
  return checkpoint() >= changes.from && knows_deletions_through() >= changes.dropped_through &&
         purge_count() == changes.purge_count;
}

Expected<void> GlobalIndex::apply(std::span<const Change> changes, storage::Sequence checkpoint, bool complete,
                                  storage::Sequence dropped_through) {
  const storage::Sequence from = checkpoint_.load(std::memory_order_acquire);
  checkpoint = std::max(checkpoint, from);
  OCTAVO_ASSERT(stored_checkpoint_ <= from);
  std::vector<const Change*> effective;
  std::size_t bytes = 0;
  {
    OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
    for (const Change& change : changes) {
      if (change.sequence <= from) continue;
      OCTAVO_TRY(const bool has, has_effect(change, transaction));
      if (!has) continue;
      effective.push_back(&change);
      bytes += 2 * (change.key.size() + change.value.size()) + 64;
    }
  }
  const bool is_due = checkpoint - stored_checkpoint_ > unstored_changes_max || stored_checkpoint_ < dropped_through;
  if (!effective.empty() || is_due) {
    const std::uint64_t purges = purge_count_.load(std::memory_order_acquire);
    std::uint64_t entry_count = 0;
    const auto written = store_.write(bytes, [&](storage::WriteTransaction& transaction) -> Expected<void> {
      OCTAVO_TRY(entry_count, this->entry_count(transaction));
      for (const Change* change : effective) OCTAVO_TRY_VOID(put(transaction, *change, entry_count));
      return put_state(transaction, Stage::ready, checkpoint, purges, entry_count);
    });
    if (!written) return written;
    stored_checkpoint_ = checkpoint;
    entry_count_.store(entry_count, std::memory_order_release);
  }
  checkpoint_.store(checkpoint, std::memory_order_release);
  if (complete) complete_through_.store(checkpoint, std::memory_order_release);
  return {};
}

Expected<void> GlobalIndex::remove(std::span<const std::string> gone, std::uint64_t purge_count) {
  const auto checkpoint = checkpoint_.load(std::memory_order_acquire);
  std::uint64_t entry_count = 0;
  const auto body = [&](storage::WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY(entry_count, this->entry_count(transaction));
    for (const auto& id : gone) OCTAVO_TRY_VOID(put(transaction, Change{0, id, false, {}, {}}, entry_count));
    return put_state(transaction, Stage::ready, checkpoint, purge_count, entry_count);
  };
  OCTAVO_TRY_VOID(store_.write(gone.size() * 256, body));
  stored_checkpoint_ = checkpoint;
  entry_count_.store(entry_count, std::memory_order_release);
  purge_count_.store(purge_count, std::memory_order_release);
  return {};
}

Expected<bool> GlobalIndex::remove_known(const KnownPurges& purges) {
  if (checkpoint() < purges.since) return false;
  OCTAVO_TRY_VOID(remove(purges.gone, purges.purge_count));
  purge_scan_.reset();
  return true;
}

Expected<bool> GlobalIndex::remove_purged(const GoneDocuments& gone, std::size_t documents_max) {
  const auto remove_some = [&](std::vector<std::string> found, std::uint64_t count) { return remove(found, count); };
  return purge_scan_.run(store_, by_document(), purge_count(), gone, documents_max, remove_some);
}

Expected<void> GlobalIndex::begin_build() {
  // What an interrupted build left is removed with the folder: its rows, and the runs of its sort.
  if (!empty_) OCTAVO_TRY_VOID(store_.create_again());
  empty_ = false;
  return store_.write(
      0, [&](storage::WriteTransaction& transaction) { return put_state(transaction, Stage::building, 0, 0, 0); });
}

Expected<void> GlobalIndex::end_build(storage::Sequence checkpoint, std::uint64_t purge_count,
                                      std::uint64_t entry_count) {
  OCTAVO_TRY_VOID(store_.write(0, [&](storage::WriteTransaction& transaction) {
    return put_state(transaction, Stage::ready, checkpoint, purge_count, entry_count);
  }));
  entry_count_.store(entry_count, std::memory_order_release);
  stored_checkpoint_ = checkpoint;
  checkpoint_.store(checkpoint, std::memory_order_release);
  complete_through_.store(checkpoint, std::memory_order_release);
  purge_count_.store(purge_count, std::memory_order_release);
  stage_.store(Stage::ready, std::memory_order_release);
  return {};
}

Expected<void> append_sorted(storage::WriteTransaction& transaction, storage::Tree tree, std::string_view key,
                             std::string_view value) {
  // What a long key leaves in the tree sorts after all shorter keys before it and before all after it.
  if (key.size() > storage::long_key::prefix_bytes) return storage::long_key::put(transaction, tree, key, value);
  return transaction.append(tree, key, value);
}

}  // namespace octavo::query

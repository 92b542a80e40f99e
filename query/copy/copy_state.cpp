#include "query/copy/copy_state.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/byte_codec.h"
#include "base/folder.h"
#include "query/project/target/copy_writer.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::query::copy {

namespace {

namespace long_key = storage::long_key;

/// The trees of a copy's store, in the order of their handles.
///
/// Format (trees of a copy):
///   meta      "numbers"      → 01 checkpoint:varint purge_count:varint skipped:varint
///   sources   source id      → target id; empty: it can have none, so it is left out
///   targets   target id      → id of the source document that has it; empty if no two could have the same one
///   long      rows of long keys of the other trees (long_key_tree)
enum class CopyTree : std::size_t { meta, sources, targets, long_keys };

constexpr std::string_view numbers_key = "numbers";
constexpr std::uint8_t numbers_version = 1;

storage::Store::Options store_options(const CopyState::Options& options) {
  storage::Store::Options store;
  store.folder = options.folder;
  store.trees = {"meta", "sources", "targets", std::string(storage::tree_of_long_keys)};
  // A write of the target must not survive a power loss that the knowledge of it does not.
  store.durability =
      options.durability == config::Durability::ephemeral ? options.durability : config::Durability::commit;
  store.capacity_bytes_initial = 1ULL << 20;
  store.faults = options.faults;
  return store;
}

}  // namespace

/// One commit.
class CopyState::Change {
 public:
  Change(storage::WriteTransaction& transaction, const storage::Store& store, Numbers& numbers, const Batch& batch)
      : transaction_(transaction), store_(store), numbers_(numbers), batch_(batch) {}

  /// Takes back the ids that documents no longer have. First of all documents: another one may have got such an id.
  Expected<void> release(CopiedDocument& document) {
    OCTAVO_TRY(const auto stored, long_key::get(transaction_, tree(CopyTree::sources), document.source_id));
    const bool was_skipped = stored && stored->empty();
    const std::optional<std::string> before =
        stored && !was_skipped ? std::optional(std::string(*stored)) : std::nullopt;
    if (was_skipped) --numbers_.skipped;
    if (before && is_buried(document)) return {};
    if (before && document.id != before) {
      OCTAVO_TRY(const bool is_own, is_holder(*before, document.source_id));
      if (is_own) {
        if (!batch_.has_unique_ids) OCTAVO_TRY_VOID(long_key::erase(transaction_, tree(CopyTree::targets), *before));
        removed_.insert(*before);
      }
    }
    if (!stored || document.id) return {};
    OCTAVO_TRY_VOID(long_key::erase(transaction_, tree(CopyTree::sources), document.source_id));
    return {};
  }

  Expected<void> take(const CopiedDocument& document, HasId has_id) {
    if (is_buried(document)) return {};
    if (!document.id) {
      if (!document.copy.exists || document.copy.deleted) return {};
      ++numbers_.skipped;
      return long_key::put(transaction_, tree(CopyTree::sources), document.source_id, {});
    }
    if (!batch_.has_unique_ids) {
      OCTAVO_TRY(const auto stored, long_key::get(transaction_, tree(CopyTree::targets), *document.id));
      if (stored && *stored != document.source_id) {
        const std::string other(*stored);
        OCTAVO_TRY(const bool is_taken, has_id(other, *document.id));
        if (is_taken) return collision(document, other);
      }
    }
    removed_.erase(*document.id);
    OCTAVO_TRY_VOID(long_key::put(transaction_, tree(CopyTree::sources), document.source_id, *document.id));
    if (batch_.has_unique_ids) return {};
    return long_key::put(transaction_, tree(CopyTree::targets), *document.id, document.source_id);
  }

  /// Gives a deleted document the id that it had, unless another one has taken it. Last of all documents.
  Expected<void> bury(CopiedDocument& document) {
    if (!is_buried(document)) return {};
    OCTAVO_TRY(const auto stored, long_key::get(transaction_, tree(CopyTree::sources), document.source_id));
    if (!stored) return {};
    std::string before(*stored);
    OCTAVO_TRY(const bool is_own, is_holder(before, document.source_id));
    if (is_own) document.id = std::move(before);
    return {};
  }

  std::vector<std::string> removed() const { return {removed_.begin(), removed_.end()}; }

 private:
  // It leaves a tombstone where it was.
  bool is_buried(const CopiedDocument& document) const {
    return !batch_.keeps_ids && document.copy.exists && document.copy.deleted;
  }

  storage::Tree tree(CopyTree name) const { return store_.tree(static_cast<std::size_t>(name)); }

  Expected<bool> is_holder(std::string_view id, std::string_view source_id) const {
    if (batch_.has_unique_ids) return true;
    OCTAVO_TRY(const auto stored, long_key::get(transaction_, tree(CopyTree::targets), id));
    return stored && *stored == source_id;
  }

  static std::unexpected<Error> collision(const CopiedDocument& document, std::string_view other) {
    return fail(
        ErrorCode::conflict,
        fmt::format("The documents '{}' and '{}' would both have the id '{}' in the target: ids must be unique "
                    "within the new key.",
                    document.source_id.substr(0, project::shown_id_bytes_max),
                    other.substr(0, project::shown_id_bytes_max), document.id->substr(0, project::shown_id_bytes_max)),
        "copy_collision");
  }

  storage::WriteTransaction& transaction_;
  const storage::Store& store_;
  Numbers& numbers_;
  const Batch& batch_;
  std::set<std::string> removed_;
};

CopyState::CopyState(Options options) : options_(std::move(options)), store_(store_options(options_)) {}

Expected<void> CopyState::open() {
  OCTAVO_TRY_VOID(storage::Store::exists_in(options_.folder) ? store_.open() : store_.create_again());
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  OCTAVO_TRY(const Numbers numbers, read_numbers(transaction));
  const std::lock_guard lock(mutex_);
  numbers_ = numbers;
  return {};
}

CopyState::Numbers CopyState::numbers() const {
  const std::lock_guard lock(mutex_);
  return numbers_;
}

Expected<CopyState::Numbers> CopyState::read_numbers(const storage::Transaction& transaction) const {
  OCTAVO_TRY(const auto stored, transaction.get(store_.tree(static_cast<std::size_t>(CopyTree::meta)), numbers_key));
  Numbers numbers;
  if (!stored) return numbers;
  ByteReader reader(*stored);
  const bool known = reader.u8() == numbers_version;
  numbers.checkpoint = reader.varint();
  numbers.purge_count = reader.varint();
  numbers.skipped = reader.varint();
  if (!known || !reader.ok()) return fail(ErrorCode::corrupted, "The state of a copy is damaged.");
  return numbers;
}

Expected<void> CopyState::commit(const Batch& batch, HasId has_id, Remove remove) {
  Numbers numbers;
  std::size_t bytes = 4096;
  for (const CopiedDocument& document : batch.documents) {
    bytes += 512 + 2 * document.source_id.size() + 2 * (document.id ? document.id->size() : 0);
  }
  const auto body = [&](storage::WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY(numbers, read_numbers(transaction));
    numbers.checkpoint = batch.checkpoint;
    numbers.purge_count = batch.purge_count;
    Change change(transaction, store_, numbers, batch);
    for (CopiedDocument& document : batch.documents) OCTAVO_TRY_VOID(change.release(document));
    for (const CopiedDocument& document : batch.documents) OCTAVO_TRY_VOID(change.take(document, has_id));
    for (CopiedDocument& document : batch.documents) OCTAVO_TRY_VOID(change.bury(document));
    std::string record;
    ByteWriter writer(record);
    writer.u8(numbers_version);
    writer.varint(numbers.checkpoint);
    writer.varint(numbers.purge_count);
    writer.varint(numbers.skipped);
    OCTAVO_TRY_VOID(transaction.put(store_.tree(static_cast<std::size_t>(CopyTree::meta)), numbers_key, record));
    auto removed = change.removed();
    return removed.empty() ? Expected<void>{} : remove(std::move(removed));
  };
  OCTAVO_TRY_VOID(store_.write(bytes, body));
  const std::lock_guard lock(mutex_);
  numbers_ = numbers;
  return {};
}

Expected<std::vector<std::string>> CopyState::sources_after(std::string_view after, std::size_t count_max) {
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  std::vector<std::string> ids;
  storage::LongKeyCursor cursor(transaction, store_.tree(static_cast<std::size_t>(CopyTree::sources)));
  for (auto row = cursor.seek(after); row && ids.size() < count_max; row = cursor.next()) {
    if (after.empty() || row->key != after) ids.emplace_back(row->key);
  }
  return ids;
}

void CopyState::remove_files() {
  store_.close_if_idle();
  std::error_code error;
  storage::remove_folder(options_.folder, error);
  if (error) spdlog::warn("cannot remove the files of a copy in {}: {}", options_.folder.string(), error.message());
}

}  // namespace octavo::query::copy

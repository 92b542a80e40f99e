#include "query/project/projection_state.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/byte_codec.h"
#include "base/folder.h"
#include "query/project/internal/settlement.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::query::project {

namespace {

constexpr std::string_view numbers_key = "numbers";
constexpr std::string_view switch_key = "switch";

storage::Store::Options store_options(const ProjectionState::Options& options) {
  storage::Store::Options store;
  store.folder = options.folder;
  store.trees = {"meta",   "sources",   "rows",    "claims", "ranks",    "refused",
                 "outbox", "referrers", "members", "counts", "fan_outs", std::string(storage::tree_of_long_keys)};
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
    for (const ProjectedRow& row : change.result.rows) bytes += 256 + row.body.size() + 4 * row.id.size();
  }
  bytes += 1024 * (batch.members.size() + batch.fan_outs.size());
  return bytes;
}

std::string input_key(std::size_t join) {
  return "input/" + std::string(1, static_cast<char>(join));
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
  std::vector<Input> inputs(options_.joins);
  for (std::size_t join = 0; join < options_.joins; ++join) {
    OCTAVO_TRY(const auto stored,
               transaction.get(store_.tree(static_cast<std::size_t>(StateTree::meta)), input_key(join)));
    if (!stored) continue;
    OCTAVO_TRY(inputs[join], decode_input(*stored));
  }
  const std::lock_guard lock(mutex_);
  numbers_ = numbers;
  inputs_ = std::move(inputs);
  return {};
}

ProjectionState::Input ProjectionState::input(std::size_t join) const {
  const std::lock_guard lock(mutex_);
  return inputs_[join];
}

ProjectionState::Numbers ProjectionState::numbers() const {
  const std::lock_guard lock(mutex_);
  return numbers_;
}

Expected<bool> ProjectionState::has_effect(std::span<const SourceChange> changes) {
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  for (const SourceChange& change : changes) {
    const auto& keys = change.result.join_keys;
    const bool is_joined = std::ranges::any_of(keys, [](const auto& key) { return key.has_value(); });
    if (!change.result.rows.empty() || is_joined || change.result.skip != ProjectedDocument::Skip::none) return true;
    OCTAVO_TRY(const auto known, storage::long_key::get(transaction, sources(), change.id));
    if (known) return true;
  }
  return false;
}

Expected<std::vector<RowWrite>> ProjectionState::commit(const Batch& batch, Evaluate evaluate,
                                                        FunctionRef<Expected<void>()> make_durable) {
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
    Settlement settlement(transaction, store_, numbers, options_.newest, is_hidden(), evaluate);
    for (const Member& member : batch.members) OCTAVO_TRY_VOID(settlement.count(member));
    for (const auto& [join, key] : batch.fan_outs) OCTAVO_TRY_VOID(settlement.fan_out(join, key));
    if (batch.step) OCTAVO_TRY_VOID(settlement.advance(*batch.step));
    if (batch.input) {
      const auto& [join, input] = *batch.input;
      OCTAVO_TRY_VOID(transaction.put(tree(StateTree::meta), input_key(join), encode_input(input)));
    }
    for (const std::string& id : batch.again) OCTAVO_TRY_VOID(settlement.look_again(id));
    for (const SourceChange& change : batch.changes) OCTAVO_TRY_VOID(settlement.change(change));
    OCTAVO_TRY_VOID(settlement.settle());
    for (const std::string& id : batch.former) OCTAVO_TRY_VOID(settlement.replace(id));
    writes = settlement.take_writes();
    if (batch.switched_through && batch.switched_through->empty()) {
      OCTAVO_TRY_VOID(transaction.erase(tree(StateTree::meta), switch_key));
    } else if (batch.switched_through) {
      OCTAVO_TRY_VOID(transaction.put(tree(StateTree::meta), switch_key, *batch.switched_through));
    }
    OCTAVO_TRY_VOID(make_durable());
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
  if (batch.input) inputs_[batch.input->first] = batch.input->second;
  return writes;
}

Expected<std::uint64_t> ProjectionState::count(std::size_t join, std::string_view key) {
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  OCTAVO_TRY(const auto stored,
             storage::long_key::get(transaction, store_.tree(static_cast<std::size_t>(StateTree::counts)),
                                    join_key(join, key)));
  return stored ? ByteReader(*stored).varint() : 0;
}

Expected<bool> ProjectionState::has_referrers(std::size_t join, std::string_view key) {
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  const std::string prefix = referrer_key(join, key);
  storage::LongKeyCursor cursor(transaction, store_.tree(static_cast<std::size_t>(StateTree::referrers)));
  const auto first = cursor.seek(prefix);
  return first && first->key.starts_with(prefix);
}

Expected<bool> ProjectionState::has_member(std::size_t join, std::string_view id) {
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  OCTAVO_TRY(const auto stored,
             storage::long_key::get(transaction, store_.tree(static_cast<std::size_t>(StateTree::members)),
                                    join_key(join, id)));
  return stored.has_value();
}

Expected<std::optional<ProjectionState::FanOutStep>> ProjectionState::next_step(std::size_t count_max) {
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  FanOutStep step;
  std::string position;
  {
    storage::LongKeyCursor cursor(transaction, store_.tree(static_cast<std::size_t>(StateTree::fan_outs)));
    const auto first = cursor.seek({});
    if (!first) return std::nullopt;
    step.join = static_cast<std::uint8_t>(first->key.front());
    step.key = first->key.substr(1);
    OCTAVO_TRY(const FanOutRecord record, decode_fan_out(first->value));
    step.visited = record.visited;
    position = record.position;
  }
  const std::string prefix = referrer_key(step.join, step.key);
  storage::LongKeyCursor cursor(transaction, store_.tree(static_cast<std::size_t>(StateTree::referrers)));
  for (auto row = cursor.seek(prefix + position); row && row->key.starts_with(prefix); row = cursor.next()) {
    const std::string_view source = row->key.substr(prefix.size());
    if (!position.empty() && source == position) continue;
    step.sources.emplace_back(source);
    if (step.sources.size() == count_max) break;
  }
  return step;
}

Expected<std::vector<std::string>> ProjectionState::joined_after(std::size_t join, bool is_count,
                                                                 std::string_view after, std::size_t count_max) {
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  std::vector<std::string> ids;
  const std::string prefix(1, static_cast<char>(join));
  const auto tree = is_count ? StateTree::members : StateTree::referrers;
  storage::LongKeyCursor cursor(transaction, store_.tree(static_cast<std::size_t>(tree)));
  // Behind all referrers of a key come those of the next one.
  const auto seek_behind = [&](std::string_view id) {
    if (is_count) return cursor.seek(join_key(join, id) + '\0');
    std::string key = referrer_key(join, id);
    key.back() = '\2';
    return cursor.seek(key);
  };
  auto row = after.empty() ? cursor.seek(prefix) : seek_behind(after);
  while (row && row->key.starts_with(prefix) && ids.size() < count_max) {
    ids.push_back(is_count ? std::string(row->key.substr(1)) : read_escaped(row->key.substr(1)));
    row = is_count ? cursor.next() : seek_behind(ids.back());
  }
  return ids;
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

Expected<std::vector<std::string>> ProjectionState::ids_after(std::string_view after, std::size_t count_max,
                                                              bool with_unwritten) {
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  std::vector<std::string> ids;
  storage::LongKeyCursor cursor(transaction, store_.tree(static_cast<std::size_t>(StateTree::rows)));
  for (auto row = cursor.seek(after); row && ids.size() < count_max; row = cursor.next()) {
    if (row->key == after) continue;
    OCTAVO_TRY(const RowRecord record, decode_row(row->value));
    if (record.may_be_there || with_unwritten) ids.emplace_back(row->key);
  }
  return ids;
}

Expected<std::vector<std::string>> ProjectionState::rows_after(std::string_view after, std::size_t count_max) {
  return ids_after(after, count_max, false);
}

Expected<std::vector<std::string>> ProjectionState::candidates_after(std::string_view after, std::size_t count_max) {
  return ids_after(after, count_max, true);
}

Expected<std::optional<std::string>> ProjectionState::switched_through() {
  OCTAVO_TRY(const storage::ReadTransaction transaction, store_.read());
  OCTAVO_TRY(const auto stored, transaction.get(store_.tree(static_cast<std::size_t>(StateTree::meta)), switch_key));
  return stored ? std::optional<std::string>(*stored) : std::nullopt;
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

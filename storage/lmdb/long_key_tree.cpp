#include "storage/lmdb/long_key_tree.h"

#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/error.h"
#include "storage/lmdb/internal/long_key_rows.h"
#include "storage/lmdb/internal/long_key_run.h"

namespace octavo::storage {
namespace {

/// How many rows in the old form one write converts, and how many bytes of them.
constexpr std::size_t converted_rows_max = 16;
constexpr std::size_t converted_bytes_max = 256 << 10;

Tree levels_of(Tree tree) {
  return Tree{tree.long_keys};
}

/// The number in a row that leads to a level. nullopt: there is no such row.
Expected<std::optional<std::uint64_t>> read_number(const Transaction& transaction, Tree tree, std::string_view row) {
  OCTAVO_TRY(const auto stored, transaction.get(tree, row));
  if (!stored) return std::nullopt;
  const auto number = long_key::decode_number(*stored);
  if (!number) return fail(ErrorCode::corrupted, "A row of a long key is damaged.");
  return number;
}

/// Reads the number, and makes the row and a new level if there is none.
Expected<std::uint64_t> number_for(WriteTransaction& transaction, Tree levels, Tree tree, std::string_view row) {
  OCTAVO_TRY(const auto known, read_number(transaction, tree, row));
  if (known) return *known;
  const std::string counter = long_key::last_number_key();
  OCTAVO_TRY(const auto last, read_number(transaction, levels, counter));
  const std::uint64_t number = last.value_or(0) + 1;
  const std::string value = long_key::encode_number(number);
  OCTAVO_TRY_VOID(transaction.put(levels, counter, value));
  OCTAVO_TRY_VOID(transaction.put(tree, row, value));
  return number;
}

Expected<std::optional<std::string_view>> get_from_levels(const Transaction& transaction, Tree tree,
                                                          std::string_view key) {
  const Tree levels = levels_of(tree);
  OCTAVO_TRY(auto number, read_number(transaction, tree, long_key::run_row_key(key)));
  std::string_view rest = key.substr(long_key::prefix_bytes);
  for (; number && long_key::is_long(rest); rest.remove_prefix(long_key::prefix_bytes)) {
    OCTAVO_TRY(number, read_number(transaction, levels, long_key::level_row_key(*number, rest)));
  }
  if (!number) return std::nullopt;
  return transaction.get(levels, long_key::value_row_key(*number, rest));
}

Expected<void> put_into_levels(WriteTransaction& transaction, Tree tree, std::string_view key, std::string_view value,
                               std::size_t old_value_bytes) {
  const Tree levels = levels_of(tree);
  OCTAVO_TRY(std::uint64_t number, number_for(transaction, levels, tree, long_key::run_row_key(key)));
  std::string_view rest = key.substr(long_key::prefix_bytes);
  for (; long_key::is_long(rest); rest.remove_prefix(long_key::prefix_bytes)) {
    OCTAVO_TRY(number, number_for(transaction, levels, levels, long_key::level_row_key(number, rest)));
  }
  return transaction.put_over(levels, long_key::value_row_key(number, rest), value, old_value_bytes);
}

bool has_rows(const Transaction& transaction, Tree levels, std::uint64_t number) {
  const std::string begin = long_key::level_begin(number);
  Cursor cursor(transaction, levels);
  const auto row = cursor.seek(begin);
  return row && row->key.starts_with(begin);
}

Expected<bool> erase_from_levels(WriteTransaction& transaction, Tree tree, std::string_view key) {
  /// A row on the way to the key, and the level that it leads to.
  struct Step {
    Tree tree;
    std::string row;
    std::uint64_t number;
  };
  const Tree levels = levels_of(tree);
  std::vector<Step> way;
  std::string_view rest = key;
  while (long_key::is_long(rest)) {
    const Tree rows = way.empty() ? tree : levels;
    std::string row = way.empty() ? long_key::run_row_key(key) : long_key::level_row_key(way.back().number, rest);
    OCTAVO_TRY(const auto number, read_number(transaction, rows, row));
    if (!number) return false;
    way.push_back({rows, std::move(row), *number});
    rest.remove_prefix(long_key::prefix_bytes);
  }
  OCTAVO_ASSERT(!way.empty());
  OCTAVO_TRY(const bool existed, transaction.erase(levels, long_key::value_row_key(way.back().number, rest)));
  if (!existed) return false;
  while (!way.empty() && !has_rows(transaction, levels, way.back().number)) {
    OCTAVO_TRY_VOID(transaction.erase(way.back().tree, way.back().row));
    way.pop_back();
  }
  return true;
}

struct ConvertedRow {
  std::string row;
  std::string key;
  std::string value;
};

/// Some rows in the old form of the run of this long key.
std::vector<ConvertedRow> rows_to_convert(const Transaction& transaction, Tree tree, std::string_view key) {
  std::vector<ConvertedRow> rows;
  const std::string prefix(long_key::prefix_of(key));
  const std::string run_row = long_key::run_row_key(prefix);
  std::size_t bytes = 0;
  Cursor cursor(transaction, tree);
  for (auto row = cursor.seek(run_row); row && row->key.starts_with(prefix); row = cursor.next()) {
    if (row->key == run_row) continue;
    const auto parts = long_key::split_digest_row(row->value);
    if (!parts) continue;
    rows.push_back({std::string(row->key), prefix + std::string(parts->key), std::string(parts->value)});
    bytes += row->value.size();
    if (rows.size() >= converted_rows_max || bytes >= converted_bytes_max) break;
  }
  return rows;
}

/// Erases the key's row in the old form, and converts others of its run. True: there was one.
Expected<bool> leave_old_form(WriteTransaction& transaction, Tree tree, std::string_view key) {
  const auto rows = rows_to_convert(transaction, tree, key);
  if (rows.empty()) return false;
  OCTAVO_TRY(const bool existed, transaction.erase(tree, long_key::digest_row_key(key)));
  for (const auto& [row, other_key, value] : rows) {
    if (other_key == key) continue;
    OCTAVO_TRY_VOID(transaction.erase(tree, row));
    OCTAVO_TRY_VOID(put_into_levels(transaction, tree, other_key, value, 0));
  }
  return existed;
}

/// The least string above all that begin with `prefix`. nullopt: there are no others above them.
std::optional<std::string> after_all_with(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xFF') prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

}  // namespace

namespace long_key {

Expected<std::optional<std::string_view>> get(const Transaction& transaction, Tree tree, std::string_view key) {
  if (!is_long(key)) return transaction.get(tree, key);
  OCTAVO_TRY(const auto found, get_from_levels(transaction, tree, key));
  if (found) return found;
  OCTAVO_TRY(const auto stored, transaction.get(tree, digest_row_key(key)));
  if (!stored) return std::nullopt;
  const auto row = split_digest_row(*stored);
  if (!row) return fail(ErrorCode::corrupted, "A row with a long key is damaged.");
  // Another key with the same prefix and digest would need a SHA-256 collision on 128 bits: treated as absent.
  if (row->key != key.substr(prefix_bytes)) return std::nullopt;
  return row->value;
}

Expected<void> put(WriteTransaction& transaction, Tree tree, std::string_view key, std::string_view value) {
  return put_over(transaction, tree, key, value, 0);
}

Expected<void> put_over(WriteTransaction& transaction, Tree tree, std::string_view key, std::string_view value,
                        std::size_t old_value_bytes) {
  if (!is_long(key)) return transaction.put_over(tree, key, value, old_value_bytes);
  OCTAVO_ASSERT(tree.long_keys != Tree::missing);
  // Copies: several rows may be written, and the first may move what `key` and `value` point to.
  const std::string own_key(key);
  const std::string own_value(value);
  OCTAVO_TRY(const bool was_old, leave_old_form(transaction, tree, own_key));
  return put_into_levels(transaction, tree, own_key, own_value, was_old ? 0 : old_value_bytes);
}

Expected<bool> erase(WriteTransaction& transaction, Tree tree, std::string_view key) {
  if (!is_long(key)) return transaction.erase(tree, key);
  const std::string own_key(key);
  OCTAVO_TRY(const bool was_old, leave_old_form(transaction, tree, own_key));
  if (was_old) return true;
  return erase_from_levels(transaction, tree, own_key);
}

Expected<bool> has_old_form(const Transaction& transaction, Tree tree, std::string_view key) {
  if (!is_long(key)) return false;
  OCTAVO_TRY(const auto stored, transaction.get(tree, digest_row_key(key)));
  return stored.has_value();
}

std::uint64_t count(const Transaction& transaction, Tree tree) {
  std::uint64_t keys = 0;
  LongKeyCursor cursor(transaction, tree);
  for (auto row = cursor.seek(""); row; row = cursor.next()) ++keys;
  return keys;
}

}  // namespace long_key

Expected<void> LongKeyWriter::put(std::string_view key, std::string_view value,
                                  std::optional<std::size_t> old_value_bytes) {
  if (old_value_bytes) return long_key::put_over(transaction_, tree_, key, value, *old_value_bytes);
  if (long_key::is_long(key)) {
    last_.reset();
    return long_key::put(transaction_, tree_, key, value);
  }
  if (!last_) {
    Cursor cursor(transaction_, tree_);
    const auto row = cursor.last();
    last_.emplace(row ? row->key : std::string_view());
  }
  if (key <= *last_) return transaction_.put(tree_, key, value);
  last_->assign(key);
  return transaction_.append(tree_, key, value);
}

LongKeyCursor::LongKeyCursor(const Transaction& transaction, Tree tree) : cursor_(transaction, tree), tree_(tree) {}
LongKeyCursor::LongKeyCursor(LongKeyCursor&& other) noexcept = default;
LongKeyCursor& LongKeyCursor::operator=(LongKeyCursor&& other) noexcept = default;
LongKeyCursor::~LongKeyCursor() = default;

std::uint64_t LongKeyCursor::long_rows_read() const {
  return run_ ? run_->rows_read() : 0;
}

LongKeyRun& LongKeyCursor::enter_run(std::string_view key) {
  if (!run_) run_ = std::make_unique<LongKeyRun>(tree_);
  run_->enter(cursor_, key);
  return *run_;
}

// From a row of the tree to its entry, or to the nearest one in the direction.
std::optional<KeyValue> LongKeyCursor::arrive(std::optional<KeyValue> row, bool forward) {
  in_run_ = false;
  while (row && long_key::is_long(row->key)) {
    LongKeyRun& run = enter_run(row->key);
    if (auto entry = forward ? run.first() : run.last()) {
      in_run_ = true;
      return entry;
    }
    row = beyond_run(forward);
  }
  return row;
}

/// The first row after those of run_, or the last one before them.
std::optional<KeyValue> LongKeyCursor::beyond_run(bool forward) {
  OCTAVO_ASSERT(run_ != nullptr);
  if (!forward) return cursor_.seek_back(run_->prefix());
  const auto after = after_all_with(run_->prefix());
  return after ? cursor_.seek(*after) : std::nullopt;
}

std::optional<KeyValue> LongKeyCursor::seek(std::string_view key) {
  if (!long_key::is_long(key)) return arrive(cursor_.seek(key), true);
  const std::string own_key(key);  // entering a run overwrites the key of the present entry
  const auto entry = enter_run(own_key).seek(own_key);
  in_run_ = entry.has_value();
  return entry ? entry : arrive(beyond_run(true), true);
}

// A short key may follow a run directly (rows of a run are never equal to a short key).
std::optional<KeyValue> LongKeyCursor::seek_back(std::string_view key) {
  if (!long_key::is_long(key)) return arrive(cursor_.seek_back(key), false);
  const std::string own_key(key);  // as in seek()
  const auto entry = enter_run(own_key).seek_back(own_key);
  in_run_ = entry.has_value();
  return entry ? entry : arrive(beyond_run(false), false);
}

std::optional<KeyValue> LongKeyCursor::last() {
  return arrive(cursor_.last(), false);
}

std::optional<KeyValue> LongKeyCursor::next() {
  if (!in_run_) return arrive(cursor_.next(), true);
  const auto entry = run_->next();
  return entry ? entry : arrive(beyond_run(true), true);
}

std::optional<KeyValue> LongKeyCursor::previous() {
  if (!in_run_) return arrive(cursor_.previous(), false);
  const auto entry = run_->previous();
  return entry ? entry : arrive(beyond_run(false), false);
}

}  // namespace octavo::storage

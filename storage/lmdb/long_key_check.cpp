// The check of the levels of long keys, as declared in storage/lmdb/long_key_tree.h.
#include <vector>

#include <fmt/format.h>

#include "base/assert.h"
#include "storage/lmdb/internal/long_key_rows.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::storage::long_key {
namespace {

/// Follows the rows that lead from level to level, and counts the rows that it reaches.
class LevelCheck {
 public:
  LevelCheck(const Transaction& transaction, Tree levels)
      : transaction_(transaction), levels_(levels), rows_(count_rows(transaction, levels)) {}

  std::optional<std::string> run(std::span<const Tree> trees) {
    if (rows_ == 0) return std::nullopt;
    const auto stored = transaction_.get(levels_, last_number_key());
    if (!stored || !*stored) return "long keys: the last number is missing";
    last_number_ = decode_number(**stored).value_or(0);
    rows_reached_ = 1;
    for (const Tree tree : trees) {
      Cursor cursor(transaction_, tree);
      for (auto row = cursor.first(); row && !problem_; row = cursor.next()) {
        if (is_run_row(row->key)) check_run(row->value);
      }
    }
    if (!problem_ && rows_reached_ != rows_) {
      problem_ = fmt::format("long keys: {} rows, of which {} belong to keys", rows_, rows_reached_);
    }
    return problem_;
  }

 private:
  void check_run(std::string_view number) {
    follow(0, number);
    while (!waiting_.empty() && !problem_) {
      const std::uint64_t level = waiting_.back();
      waiting_.pop_back();
      check_level(level);
    }
  }

  void follow(std::uint64_t from, std::string_view value) {
    const auto number = decode_number(value);
    if (!number || *number <= from || *number > last_number_) {
      problem_ = fmt::format("long keys: a row of level {} leads to no level", from);
      return;
    }
    waiting_.push_back(*number);
  }

  void check_level(std::uint64_t number) {
    const std::string begin = level_begin(number);
    bool is_empty = true;
    Cursor cursor(transaction_, levels_);
    for (auto row = cursor.seek(begin); row && row->key.starts_with(begin) && !problem_; row = cursor.next()) {
      is_empty = false;
      if (++rows_reached_ > rows_) {
        problem_ = fmt::format("long keys: more than one row leads to level {}", number);
        return;
      }
      const auto level_row = decode_level_row(row->key);
      if (!level_row) {
        problem_ = fmt::format("long keys: a row of level {} is damaged", number);
      } else if (level_row->leads_on) {
        follow(number, row->value);
      }
    }
    if (is_empty) problem_ = fmt::format("long keys: level {} has no rows", number);
  }

  const Transaction& transaction_;
  const Tree levels_;
  const std::uint64_t rows_;  ///< in the tree of long keys
  std::uint64_t last_number_ = 0;
  std::uint64_t rows_reached_ = 0;
  std::vector<std::uint64_t> waiting_;  ///< levels that are to be checked
  std::optional<std::string> problem_;
};

}  // namespace

std::uint64_t count_old_forms(const Transaction& transaction, Tree tree) {
  std::uint64_t rows = 0;
  Cursor cursor(transaction, tree);
  for (auto row = cursor.first(); row; row = cursor.next()) {
    if (is_long(row->key) && !is_run_row(row->key)) ++rows;
  }
  return rows;
}

std::optional<std::string> find_damaged_levels(const Transaction& transaction, std::span<const Tree> trees) {
  OCTAVO_ASSERT(!trees.empty());
  return LevelCheck(transaction, Tree{trees.front().long_keys}).run(trees);
}

}  // namespace octavo::storage::long_key

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/lmdb/store.h"

/// Rows of long keys, as long_key_tree.h describes them.
namespace octavo::storage::long_key {

bool is_long(std::string_view key);
/// The beginning of a long key that its run has in common.
std::string_view prefix_of(std::string_view key);

/// Key of the row that leads from a tree to the run of this long key.
std::string run_row_key(std::string_view key);
bool is_run_row(std::string_view row_key);
/// Key of a key's row in the old form.
std::string digest_row_key(std::string_view key);
/// Splits the value of a row in the old form into the rest of the key and the value. nullopt: it is damaged.
std::optional<KeyValue> split_digest_row(std::string_view stored);

/// The common beginning of all row keys of a level.
std::string level_begin(std::uint64_t number);
/// Key of the row with a value, where `rest` is what remains of the long key.
std::string value_row_key(std::uint64_t number, std::string_view rest);
/// Key of the row that leads to the next level for long keys which continue after `rest`'s first prefix_bytes.
std::string level_row_key(std::uint64_t number, std::string_view rest);
/// A row of a level.
struct LevelRow {
  std::string_view part;
  bool leads_on = false;  ///< to the level whose number is the row's value
};
/// `row_key` begins as level_begin() says. nullopt: it is damaged.
std::optional<LevelRow> decode_level_row(std::string_view row_key);

/// Key of the row with the last number given.
std::string last_number_key();
std::string encode_number(std::uint64_t number);
/// nullopt: it is damaged.
std::optional<std::uint64_t> decode_number(std::string_view value);

}  // namespace octavo::storage::long_key

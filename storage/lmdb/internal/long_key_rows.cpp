#include "storage/lmdb/internal/long_key_rows.h"

#include <cstring>
#include <limits>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "base/digest.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::storage::long_key {
namespace {

constexpr std::size_t digest_bytes = 16;
constexpr std::size_t number_bytes = 8;
/// The last byte of a row key: what the row is.
constexpr char run_mark = '\0';
constexpr char value_mark = '\0';
constexpr char level_mark = '\1';

}  // namespace

bool is_long(std::string_view key) {
  return key.size() > prefix_bytes;
}

std::string_view prefix_of(std::string_view key) {
  return key.substr(0, prefix_bytes);
}

std::string run_row_key(std::string_view key) {
  OCTAVO_ASSERT(key.size() >= prefix_bytes);
  std::string row(prefix_of(key));
  row.push_back(run_mark);
  return row;
}

bool is_run_row(std::string_view row_key) {
  return row_key.size() == prefix_bytes + 1 && row_key.back() == run_mark;
}

std::string digest_row_key(std::string_view key) {
  OCTAVO_ASSERT(is_long(key));
  std::string row(prefix_of(key));
  const auto digest = crypto::sha256(key);
  row.append(digest.data(), digest_bytes);
  return row;
}

std::optional<KeyValue> split_digest_row(std::string_view stored) {
  std::uint32_t key_size = 0;
  if (stored.size() < sizeof(key_size)) return std::nullopt;
  std::memcpy(&key_size, stored.data(), sizeof(key_size));
  if (key_size <= prefix_bytes) return std::nullopt;
  const std::size_t rest = key_size - prefix_bytes;
  if (stored.size() < sizeof(key_size) + rest) return std::nullopt;
  return KeyValue{stored.substr(sizeof(key_size), rest), stored.substr(sizeof(key_size) + rest)};
}

std::string level_begin(std::uint64_t number) {
  std::string begin;
  append_key_u64(begin, number);
  return begin;
}

std::string value_row_key(std::uint64_t number, std::string_view rest) {
  OCTAVO_ASSERT(!rest.empty() && rest.size() <= prefix_bytes);
  std::string row = level_begin(number);
  row.append(rest).push_back(value_mark);
  return row;
}

std::string level_row_key(std::uint64_t number, std::string_view rest) {
  OCTAVO_ASSERT(rest.size() >= prefix_bytes);
  std::string row = level_begin(number);
  row.append(rest.substr(0, prefix_bytes)).push_back(level_mark);
  return row;
}

std::optional<LevelRow> decode_level_row(std::string_view row_key) {
  if (row_key.size() < number_bytes + 2) return std::nullopt;
  const std::string_view part = row_key.substr(number_bytes, row_key.size() - number_bytes - 1);
  const char mark = row_key.back();
  if (part.size() > prefix_bytes) return std::nullopt;
  if (mark == value_mark) return LevelRow{part, false};
  if (mark == level_mark && part.size() == prefix_bytes) return LevelRow{part, true};
  return std::nullopt;
}

std::string last_number_key() {
  return level_begin(0);
}

std::string encode_number(std::uint64_t number) {
  std::string value;
  ByteWriter(value).u64(number);
  return value;
}

std::optional<std::uint64_t> decode_number(std::string_view value) {
  if (value.size() != number_bytes) return std::nullopt;
  const std::uint64_t number = ByteReader(value).u64();
  const bool is_valid = number > 0 && number < std::numeric_limits<std::uint64_t>::max();
  return is_valid ? std::optional(number) : std::nullopt;
}

}  // namespace octavo::storage::long_key

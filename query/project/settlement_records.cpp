#include <algorithm>
#include <array>

#include "base/byte_codec.h"
#include "query/project/internal/settlement.h"

namespace octavo::query::project {

namespace {

constexpr std::uint8_t claimed_often_flag = 1;
constexpr std::uint8_t may_be_there_flag = 2;
constexpr std::size_t digest_bytes = 16;
constexpr std::uint8_t numbers_version = 1;
constexpr std::uint8_t skip_max = 2;
constexpr std::uint8_t several_rows_flag = 4;

std::unexpected<Error> damaged(std::string_view what) {
  return fail(ErrorCode::corrupted, "A " + std::string(what) + " record of a projection is damaged.");
}

/// In the order in which they are stored. The skipped counts are those of documents.
template <class Numbers>
auto members_of(Numbers& numbers) {
  return std::array{&numbers.checkpoint,  &numbers.purge_count, &numbers.target_sequence, &numbers.epoch,
                    &numbers.outbox_rows, &numbers.rows,        &numbers.candidates,      &numbers.collisions,
                    &numbers.without_key, &numbers.errors,      &numbers.occupied,        &numbers.fan_outs};
}

}  // namespace

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    out += c;
    if (c == '\0') out += '\xFF';
  }
  out += '\0';
  out += '\1';
}

std::string encode_row(const RowRecord& record) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(static_cast<std::uint8_t>((record.is_claimed_often ? claimed_often_flag : 0) |
                                      (record.may_be_there ? may_be_there_flag : 0)));
  writer.varint(record.epoch);
  writer.bytes(record.digest.empty() ? std::string(digest_bytes, '\0') : record.digest);
  writer.sized_bytes(record.rank);
  writer.bytes(record.source);
  return out;
}

Expected<RowRecord> decode_row(std::string_view text) {
  ByteReader reader(text);
  RowRecord record;
  const std::uint8_t flags = reader.u8();
  record.is_claimed_often = flags & claimed_often_flag;
  record.may_be_there = flags & may_be_there_flag;
  record.epoch = reader.varint();
  const std::string_view digest = reader.bytes(digest_bytes);
  if (std::ranges::any_of(digest, [](char c) { return c != '\0'; })) record.digest = digest;
  record.rank = reader.sized_bytes();
  record.source = reader.rest();
  if (!reader.ok() || record.source.empty()) return damaged("row");
  return record;
}

std::string read_escaped(std::string_view escaped) {
  std::string text;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const bool is_null = escaped[i] == '\0';
    if (is_null && i + 1 < escaped.size() && escaped[i + 1] == '\1') break;
    text += escaped[i];
    if (is_null) ++i;
  }
  return text;
}

bool SourceRecord::is_empty() const {
  const auto has_key = [](const std::optional<std::string>& key) { return key.has_value(); };
  return targets.empty() && skip == ProjectedDocument::Skip::none && std::ranges::none_of(join_keys, has_key);
}

std::string encode_source(const SourceRecord& record) {
  std::string out;
  ByteWriter writer(out);
  const bool has_several = record.targets.size() > 1;
  writer.u8(static_cast<std::uint8_t>(static_cast<std::uint8_t>(record.skip) | (has_several ? several_rows_flag : 0)));
  if (has_several) writer.varint(record.targets.size());
  if (record.targets.empty()) writer.sized_bytes({});
  for (const std::string& target : record.targets) writer.sized_bytes(target);
  for (const auto& key : record.join_keys) {
    writer.u8(key ? 1 : 0);
    if (key) writer.sized_bytes(*key);
  }
  return out;
}

Expected<SourceRecord> decode_source(std::string_view text) {
  ByteReader reader(text);
  SourceRecord record;
  const std::uint8_t first = reader.u8();
  const std::uint8_t skip = first & ~several_rows_flag;
  if (skip > skip_max) return damaged("source");
  record.skip = static_cast<ProjectedDocument::Skip>(skip);
  const std::uint64_t count = (first & several_rows_flag) != 0 ? reader.varint() : 1;
  for (std::uint64_t i = 0; reader.ok() && i < count; ++i) {
    const std::string_view target = reader.sized_bytes();
    if (!target.empty()) record.targets.emplace_back(target);
  }
  while (reader.ok() && !reader.rest().empty()) {
    auto& key = record.join_keys.emplace_back();
    if (reader.u8() != 0) key = reader.sized_bytes();
  }
  if (!reader.ok()) return damaged("source");
  return record;
}

std::string encode_input(const ProjectionState::Input& input) {
  std::string out;
  ByteWriter writer(out);
  writer.varint(input.checkpoint);
  writer.varint(input.purge_count);
  return out;
}

Expected<ProjectionState::Input> decode_input(std::string_view text) {
  ByteReader reader(text);
  ProjectionState::Input input;
  input.checkpoint = reader.varint();
  input.purge_count = reader.varint();
  if (!reader.ok()) return damaged("input");
  return input;
}

std::string encode_fan_out(const FanOutRecord& record) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(record.again ? 1 : 0);
  writer.varint(record.visited);
  writer.bytes(record.position);
  return out;
}

Expected<FanOutRecord> decode_fan_out(std::string_view text) {
  ByteReader reader(text);
  FanOutRecord record;
  record.again = reader.u8() != 0;
  record.visited = reader.varint();
  record.position = reader.rest();
  if (!reader.ok()) return damaged("fan-out");
  return record;
}

std::string join_key(std::size_t join, std::string_view key) {
  std::string out(1, static_cast<char>(join));
  out += key;
  return out;
}

std::string referrer_key(std::size_t join, std::string_view key, std::string_view source) {
  std::string out(1, static_cast<char>(join));
  append_escaped(out, key);
  out += source;
  return out;
}

std::string encode_write(const RowWrite& write) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(write.deleted ? 1 : 0);
  writer.sized_bytes(write.id);
  writer.bytes(write.body);
  return out;
}

Expected<RowWrite> decode_write(std::string_view text) {
  ByteReader reader(text);
  RowWrite write;
  write.deleted = reader.u8() != 0;
  write.id = reader.sized_bytes();
  write.body = reader.rest();
  if (!reader.ok() || write.id.empty()) return damaged("write");
  return write;
}

std::string encode_numbers(const ProjectionState::Numbers& numbers) {
  std::string out;
  ByteWriter writer(out);
  writer.u8(numbers_version);
  for (const auto* number : members_of(numbers)) writer.varint(*number);
  return out;
}

Expected<ProjectionState::Numbers> decode_numbers(std::string_view text) {
  ByteReader reader(text);
  ProjectionState::Numbers numbers;
  if (reader.u8() != numbers_version) return damaged("numbers");
  for (auto* number : members_of(numbers)) *number = reader.varint();
  if (!reader.ok()) return damaged("numbers");
  return numbers;
}

}  // namespace octavo::query::project

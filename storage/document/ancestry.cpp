#include "storage/document/ancestry.h"

#include <algorithm>
#include <span>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "storage/document/hash_codec.h"

namespace octavo::storage {
namespace {

constexpr std::uint8_t mixed_forms = 2;
constexpr std::uint8_t with_deletions = 0x80;
constexpr std::size_t bits_of_byte = 8;

void write_run(ByteWriter& writer, std::span<const Ancestor> ancestors) {
  OCTAVO_ASSERT(!ancestors.empty());
  const HashForm first = form_of(ancestors.front().hash);
  const bool mixed = first == HashForm::text || std::ranges::any_of(ancestors, [&](const Ancestor& ancestor) {
                       return form_of(ancestor.hash) != first;
                     });
  const bool deletions = std::ranges::any_of(ancestors, &Ancestor::deleted);
  writer.u8(static_cast<std::uint8_t>((mixed ? mixed_forms : static_cast<std::uint8_t>(first)) |
                                      (deletions ? with_deletions : 0)));
  writer.varint(ancestors.size());
  for (std::size_t i = 0; deletions && i < ancestors.size(); i += bits_of_byte) {
    unsigned bits = 0;
    for (std::size_t bit = 0; bit < bits_of_byte && i + bit < ancestors.size(); ++bit) {
      if (ancestors[i + bit].deleted) bits |= 1U << bit;
    }
    writer.u8(static_cast<std::uint8_t>(bits));
  }
  for (const Ancestor& ancestor : ancestors) {
    const HashForm form = form_of(ancestor.hash);
    if (mixed) writer.u8(static_cast<std::uint8_t>(form));
    write_hash(writer, ancestor.hash, form);
  }
}

/// False: the bytes are damaged.
bool read_run(ByteReader& reader, std::vector<Ancestor>& ancestors) {
  constexpr auto text = static_cast<std::uint8_t>(HashForm::text);
  const std::uint8_t head = reader.u8();
  const std::uint64_t count = reader.varint();
  const auto form = static_cast<std::uint8_t>(head & ~with_deletions);
  if (!reader.ok() || form > mixed_forms || count == 0 || count > reader.rest().size()) return false;
  std::string_view deleted_bits;
  if (head & with_deletions) deleted_bits = reader.bytes((count + bits_of_byte - 1) / bits_of_byte);
  if (!reader.ok()) return false;
  ancestors.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t own_form = form == mixed_forms ? reader.u8() : form;
    if (own_form > text || !read_hash(reader, static_cast<HashForm>(own_form), ancestors[i].hash)) return false;
    if (deleted_bits.empty()) continue;
    const auto bits = static_cast<unsigned char>(deleted_bits[i / bits_of_byte]);
    ancestors[i].deleted = ((bits >> (i % bits_of_byte)) & 1U) != 0;
  }
  return reader.rest().empty();
}

}  // namespace

void encode_ancestry(std::string& out, const Ancestry& ancestry) {
  OCTAVO_ASSERT(ancestry.recent.empty() == (ancestry.kept == 0) && ancestry.recent.size() <= ancestry.kept);
  if (ancestry.kept == 0) return;
  ByteWriter writer(out);
  writer.varint(ancestry.kept);
  write_run(writer, ancestry.recent);
}

Expected<Ancestry> decode_ancestry(std::string_view bytes, std::uint64_t generation) {
  Ancestry ancestry;
  if (bytes.empty()) return ancestry;
  ByteReader reader(bytes);
  ancestry.kept = reader.varint();
  if (!reader.ok() || ancestry.kept >= generation || !read_run(reader, ancestry.recent) ||
      ancestry.recent.size() != std::min(ancestry.kept, generation - first_in_record(generation))) {
    return fail(ErrorCode::corrupted, "The ancestors in a document's record are damaged.");
  }
  return ancestry;
}

void encode_history_block(std::string& out, const HistoryBlock& block) {
  OCTAVO_ASSERT(block.first / HistoryBlock::generations_max == (block.end() - 1) / HistoryBlock::generations_max);
  ByteWriter writer(out);
  writer.varint(block.first % HistoryBlock::generations_max);
  write_run(writer, block.ancestors);
}

Expected<HistoryBlock> decode_history_block(std::string_view bytes, std::uint64_t number) {
  ByteReader reader(bytes);
  const std::uint64_t offset = reader.varint();
  HistoryBlock block;
  if (!reader.ok() || offset >= HistoryBlock::generations_max || !read_run(reader, block.ancestors) ||
      block.ancestors.size() > HistoryBlock::generations_max - offset) {
    return fail(ErrorCode::corrupted, "A block of a document's history is damaged.");
  }
  block.first = number * HistoryBlock::generations_max + offset;
  return block;
}

}  // namespace octavo::storage

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "storage/document/revision.h"

namespace octavo::storage {

/// An ancestor of a document's winner; its generation follows from its position.
struct Ancestor {
  RevisionHash hash;
  bool deleted = false;

  bool operator==(const Ancestor&) const = default;
};

/// The ancestors of a document's winner as its record has them. Their generations are those below the winner's, without
/// gaps, down to the oldest ancestor that is kept.
///
/// Format (ancestry in a document record):
///   ancestry := kept:varint run         how many ancestors are kept, and the newest 1 to 16 of them; the others are
///                                       in history blocks. A document without ancestors has no ancestry
///   run      := form:u8 count:varint [deleted bits] hash*           oldest first
///   form     := 0 | 1: every hash is half | digest; 2: each follows its own form, half 0, digest 1, text 2
///               80 more: some were deletions; the deleted bits are a bit for each, the lowest first
struct Ancestry {
  std::uint64_t kept = 0;
  std::vector<Ancestor> recent;  ///< oldest first: the generations from first_in_record() on
};
/// The lowest generation that the record of a winner of `generation` has room for. A multiple of 16, so that 16
/// ancestors at a time move from the record to a block.
constexpr std::uint64_t first_in_record(std::uint64_t generation) {
  constexpr std::uint64_t group = 16;
  return generation == 0 ? 0 : (generation - 1) / group * group;
}
/// Appends nothing if there are no ancestors.
void encode_ancestry(std::string& out, const Ancestry& ancestry);
/// `generation`: the winner's.
Expected<Ancestry> decode_ancestry(std::string_view bytes, std::uint64_t generation);

/// Ancestors of one document whose generations are in one block.
///
/// Format (history block):
///   block := first:varint run       `first` is the oldest one's offset in the block; without gaps to the last one
///
/// Block `n` is for the generations from 496n on: their hashes fill a page of the store if each has 8 bytes, and 16
/// ancestors that move to a block never need two of them. It may have generations that are no longer kept.
struct HistoryBlock {
  static constexpr std::uint64_t generations_max = 496;

  std::uint64_t first = 0;  ///< generation
  std::vector<Ancestor> ancestors;

  std::uint64_t end() const { return first + ancestors.size(); }
};
void encode_history_block(std::string& out, const HistoryBlock& block);
Expected<HistoryBlock> decode_history_block(std::string_view bytes, std::uint64_t number);

}  // namespace octavo::storage

#include "storage/document/revision.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/assert.h"
#include "base/digest.h"
#include "base/encoding.h"

namespace octavo::storage {
namespace {

/// Leaves room for more edits than can ever follow: a generation never wraps around to zero.
constexpr std::uint64_t generation_max = std::numeric_limits<std::int64_t>::max();

using HexPair = std::array<char, 2>;

/// The two hexadecimal digits of each byte: half the work of one digit at a time.
constexpr std::array<HexPair, 256> hex_pairs = [] {
  std::array<HexPair, 256> pairs{};
  for (std::size_t byte = 0; byte < pairs.size(); ++byte)
    pairs[byte] = {crypto::hex_digits[byte >> 4], crypto::hex_digits[byte & 15]};
  return pairs;
}();

// append_text never writes upper case, so a hash with such digits stays text.
int lower_hex_value(char c) {
  return c >= 'A' && c <= 'F' ? -1 : crypto::hex_value(c);
}

/// The finaliser of splitmix64: a bijection whose results look random, so that hashes of equal length look alike.
constexpr std::uint64_t mix(std::uint64_t half) {
  half = (half ^ (half >> 30)) * 0xBF58'476D'1CE4'E5B9U;
  half = (half ^ (half >> 27)) * 0x94D0'49BB'1331'11EBU;
  return half ^ (half >> 31);
}

std::uint64_t little_endian(std::uint64_t value) {
  return std::endian::native == std::endian::big ? std::byteswap(value) : value;
}

/// The 8 bytes that follow `half` in a new revision's hash.
std::uint64_t second_half(const char* half) {
  std::uint64_t value = 0;
  std::memcpy(&value, half, sizeof value);
  return little_endian(mix(little_endian(value)));
}

}  // namespace

RevisionHash RevisionHash::from_half(std::string_view half) {
  OCTAVO_ASSERT(half.size() == half_bytes);
  RevisionHash hash;
  half = half.substr(0, half_bytes);
  std::memcpy(hash.bytes_.data(), half.data(), half.size());
  const std::uint64_t second = second_half(hash.bytes_.data());
  std::memcpy(hash.bytes_.data() + half_bytes, &second, half_bytes);
  hash.size_ = digest_bytes;
  hash.digest_ = true;
  return hash;
}

bool RevisionHash::follows_from_half() const {
  if (!digest_) return false;
  const std::uint64_t second = second_half(bytes_.data());
  return std::memcmp(bytes_.data() + half_bytes, &second, half_bytes) == 0;
}

std::optional<RevisionHash> RevisionHash::from_text(std::string_view text) {
  if (text.empty() || text.size() > text_bytes_max) return std::nullopt;
  RevisionHash hash;
  if (text.size() == 2 * RevisionHash::digest_bytes) {
    bool all_hex = true;
    for (std::size_t i = 0; i < RevisionHash::digest_bytes && all_hex; ++i) {
      const int high = lower_hex_value(text[2 * i]);
      const int low = lower_hex_value(text[2 * i + 1]);
      all_hex = high >= 0 && low >= 0;
      if (all_hex) hash.bytes_[i] = static_cast<char>(high * 16 + low);
    }
    if (all_hex) {
      hash.size_ = RevisionHash::digest_bytes;
      hash.digest_ = true;
      return hash;
    }
  }
  // Printable ASCII without quotes, so that it can be put into JSON and headers without escaping.
  for (const char c : text) {
    if (c <= ' ' || c > '~' || c == '"' || c == '\\') return std::nullopt;
  }
  std::memcpy(hash.bytes_.data(), text.data(), text.size());
  hash.size_ = static_cast<std::uint8_t>(text.size());
  return hash;
}

RevisionHash RevisionHash::from_bytes(std::string_view bytes, bool is_digest) {
  RevisionHash hash;
  OCTAVO_ASSERT(bytes.size() <= text_bytes_max);
  OCTAVO_ASSERT(!is_digest || bytes.size() == digest_bytes);
  hash.size_ = static_cast<std::uint8_t>(std::min(bytes.size(), text_bytes_max));
  std::memcpy(hash.bytes_.data(), bytes.data(), hash.size_);
  hash.digest_ = is_digest;
  return hash;
}

char* RevisionHash::write_text(char* out) const {
  OCTAVO_ASSERT(!digest_ || size_ == digest_bytes);
  if (!digest_) return std::copy_n(bytes_.data(), size_, out);
  for (std::size_t i = 0; i < digest_bytes; ++i) {
    std::memcpy(out + 2 * i, hex_pairs[static_cast<unsigned char>(bytes_[i])].data(), 2);
  }
  return out + 2 * digest_bytes;
}

void RevisionHash::append_text(std::string& out) const {
  char text[text_bytes_max];
  out.append(text, write_text(text));
}

Expected<Revision> Revision::parse(std::string_view text) {
  const auto invalid = [] { return fail(ErrorCode::bad_request, "Invalid rev format"); };
  Revision revision;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision.generation);
  if (error != std::errc{} || end == text.data() + text.size() || *end != '-' || revision.generation == 0 ||
      revision.generation > generation_max) {
    return invalid();
  }
  const auto hash = RevisionHash::from_text(text.substr(static_cast<std::size_t>(end - text.data()) + 1));
  if (!hash) return invalid();
  revision.hash = *hash;
  return revision;
}

void Revision::append_to(std::string& out) const {
  constexpr std::size_t digits_max = 20;
  char text[digits_max + 1 + RevisionHash::text_bytes_max];
  char* end = std::to_chars(text, text + digits_max, generation).ptr;
  *end++ = '-';
  out.append(text, hash.write_text(end));
}

std::string Revision::to_string() const {
  std::string text;
  append_to(text);
  return text;
}

Revision next_revision(const std::optional<Revision>& parent, bool deleted, std::string_view body, std::uint64_t salt) {
  // Format (hash of a new revision):
  //   hash         := half[8] mixed:u64
  //   half         := the first 8 bytes of SHA-256 over the digest input
  //   digest input := deleted:u8 parent_generation:u64 parent_hash_size:u8 parent_hash [salt:u64] body
  //   salt         := dropped_through of the counters, if it is not 0; only of a document's first revision
  //   mixed        := the half, read as u64, after z ^= z >> 30; z *= BF58476D1CE4E5B9; z ^= z >> 27;
  //                   z *= 94D049BB133111EB; z ^= z >> 31 (the finaliser of splitmix64)
  //
  // Records store the half alone: 8 bytes instead of 16 for each of a document's revisions.
  std::string head;
  const auto append_u64 = [&head](std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) head.push_back(static_cast<char>(value >> shift));
  };
  head.push_back(deleted ? '\1' : '\0');
  const std::uint64_t parent_generation = parent ? parent->generation : 0;
  append_u64(parent_generation);
  const std::string_view parent_hash = parent ? parent->hash.bytes() : std::string_view{};
  head.push_back(static_cast<char>(parent_hash.size()));
  head.append(parent_hash);
  if (!parent && salt != 0) append_u64(salt);
  const auto digest = crypto::sha256({head, body});
  return {parent_generation + 1, RevisionHash::from_half({digest.data(), RevisionHash::half_bytes})};
}

}  // namespace octavo::storage

#include "query/walk/bookmark.h"

#include <algorithm>
#include <utility>

#include "base/byte_codec.h"
#include "base/token.h"

namespace octavo::query {

namespace {

constexpr std::uint8_t version_without_turns = 1;
constexpr std::uint8_t version_with_turns = 2;
constexpr std::uint8_t version_with_indexes = 3;

}  // namespace

std::string Bookmark::encode(std::string_view origin) const {
  std::string bytes;
  ByteWriter writer(bytes);
  const bool has_indexes =
      !index.empty() || std::ranges::any_of(left, [](const Left& one) { return !one.index.empty(); });
  const bool has_turns = has_indexes || spent > 0 || !left.empty();
  writer.u8(has_indexes ? version_with_indexes : has_turns ? version_with_turns : version_without_turns);
  writer.u8(static_cast<std::uint8_t>(kind));
  writer.varint(branch);
  writer.sized_bytes(identity);
  writer.sized_bytes(key);
  if (has_turns) {
    writer.varint(spent);
    writer.varint(left.size());
    for (const Left& one : left) {
      writer.sized_bytes(one.identity);
      writer.u8(one.down ? 1 : 0);
      writer.sized_bytes(one.key);
    }
  }
  if (has_indexes) {
    writer.sized_bytes(index);
    for (const Left& one : left) writer.sized_bytes(one.index);
  }
  return seal_token(std::move(bytes), origin);
}

std::optional<Bookmark> Bookmark::decode(std::string_view text, std::string_view origin) {
  const auto bytes = open_token(text, origin);
  if (!bytes) return std::nullopt;
  ByteReader reader(*bytes);
  const std::uint8_t version = reader.u8();
  if (version < version_without_turns || version > version_with_indexes) return std::nullopt;
  Bookmark bookmark;
  bookmark.kind = static_cast<Kind>(reader.u8());
  switch (bookmark.kind) {
    case Kind::primary:
    case Kind::index:
    case Kind::combined:
    case Kind::sorted:
      break;
    default:
      return std::nullopt;
  }
  bookmark.branch = reader.varint();
  bookmark.identity = reader.sized_bytes();
  bookmark.key = reader.sized_bytes();
  if (version >= version_with_turns) {
    bookmark.spent = reader.varint();
    const std::uint64_t count = reader.varint();
    if (!reader.ok() || count > left_max) return std::nullopt;
    for (std::uint64_t i = 0; i < count; ++i) {
      Left& one = bookmark.left.emplace_back();
      one.identity = reader.sized_bytes();
      one.down = reader.u8() != 0;
      one.key = reader.sized_bytes();
    }
  }
  if (version >= version_with_indexes) {
    bookmark.index = reader.sized_bytes();
    for (Left& one : bookmark.left) one.index = reader.sized_bytes();
  }
  if (!reader.ok() || !reader.rest().empty()) return std::nullopt;
  return bookmark;
}

}  // namespace octavo::query

#include "query/sql/run/continuation.h"

#include <utility>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "base/digest.h"
#include "base/token.h"
#include "query/sql/syntax/sql_limits.h"

namespace octavo::query::sql {

namespace {
constexpr std::uint8_t continuation_version = 1;
constexpr std::uint8_t continuation_version_of_long_keys = 2;
constexpr std::uint8_t continuation_version_with_partition_id = 3;
constexpr std::uint8_t continuation_version_with_spent = 4;
constexpr std::uint8_t continuation_version_with_left_plans = 5;
constexpr std::size_t digest_bytes = 16;
}  // namespace

std::string Continuation::digest_of(std::string_view key) {
  const auto digest = crypto::sha256(key);
  return {digest.begin(), digest.begin() + digest_bytes};
}

void Continuation::set_key(std::string whole, std::size_t bytes_max) {
  OCTAVO_ASSERT(bytes_max >= beginning_bytes);
  key = std::move(whole);
  digest.clear();
  if (key.size() <= bytes_max) return;
  digest = digest_of(key);
  key.resize(beginning_bytes);
}

std::string Continuation::encode(std::string_view origin) const {
  OCTAVO_ASSERT(positions.size() <= sql_joins_max + 1);
  OCTAVO_ASSERT(digest.empty() || digest.size() == digest_bytes);
  OCTAVO_ASSERT(partition_id_plus_one == 0 || has_whole_key());  // no version has both
  std::string bytes;
  ByteWriter writer(bytes);
  // Only plain results name a partition id, and only those in an order have long keys.
  const bool needs_spent = spent > 0 || is_union_with_start();
  const std::uint8_t version = !left_plans.empty()          ? continuation_version_with_left_plans
                               : !has_whole_key()           ? continuation_version_of_long_keys
                               : needs_spent                ? continuation_version_with_spent
                               : partition_id_plus_one != 0 ? continuation_version_with_partition_id
                                                            : continuation_version;
  writer.u8(version);
  writer.u8(static_cast<std::uint8_t>(kind));
  for (int shift = 56; shift >= 0; shift -= 8) writer.u8(static_cast<std::uint8_t>(fingerprint >> shift));
  writer.varint(skip);
  writer.varint(left);
  writer.varint(branch);
  writer.sized_bytes(identity);
  writer.sized_bytes(key);
  writer.varint(positions.size());
  for (const std::uint64_t position : positions) writer.varint(position);
  if (has_start() || (version >= continuation_version_with_spent && kind == Kind::combined)) writer.sized_bytes(start);
  if (version == continuation_version_of_long_keys) {
    bytes += digest;
    writer.varint(same_beginning);
  } else if (version != continuation_version) {
    writer.varint(partition_id_plus_one);
    if (version >= continuation_version_with_spent) writer.varint(spent);
  }
  if (version == continuation_version_with_left_plans) {
    writer.sized_bytes(digest);
    writer.varint(same_beginning);
    writer.varint(left_plans.size());
    for (const Bookmark::Left& one : left_plans) {
      writer.sized_bytes(one.identity);
      writer.u8(one.down ? 1 : 0);
      writer.sized_bytes(one.key);
      writer.sized_bytes(one.index);
    }
  }
  return seal_token(std::move(bytes), origin);
}

std::optional<Continuation> Continuation::decode(std::string_view text, std::string_view origin) {
  const auto bytes = open_token(text, origin);
  if (!bytes) return std::nullopt;
  ByteReader reader(*bytes);
  const std::uint8_t version = reader.u8();
  if (version < continuation_version || version > continuation_version_with_left_plans) return std::nullopt;
  Continuation result;
  result.kind = static_cast<Kind>(reader.u8());
  switch (result.kind) {
    case Kind::primary:
    case Kind::index:
    case Kind::automatic:
    case Kind::walked:
    case Kind::combined:
    case Kind::sorted:
    case Kind::ordered:
    case Kind::grouped:
      break;
    default:
      return std::nullopt;
  }
  for (int i = 0; i < 8; ++i) result.fingerprint = result.fingerprint << 8 | reader.u8();
  result.skip = reader.varint();
  result.left = reader.varint();
  result.branch = reader.varint();
  result.identity = reader.sized_bytes();
  result.key = reader.sized_bytes();
  const std::uint64_t count = reader.varint();
  if (!reader.ok() || count > sql_joins_max + 1) return std::nullopt;
  for (std::uint64_t i = 0; i < count; ++i) result.positions.push_back(reader.varint());
  if (result.has_start() || (version >= continuation_version_with_spent && result.kind == Kind::combined)) {
    result.start = reader.sized_bytes();
  }
  if (version == continuation_version_of_long_keys) {
    if (!result.names_row()) return std::nullopt;
    result.digest = reader.bytes(digest_bytes);
    result.same_beginning = reader.varint();
  }
  if (version == continuation_version_with_partition_id) {
    result.partition_id_plus_one = reader.varint();
    if (result.partition_id_plus_one == 0) return std::nullopt;
  }
  if (version >= continuation_version_with_spent) {
    result.partition_id_plus_one = reader.varint();
    result.spent = reader.varint();
  }
  if (version == continuation_version_with_left_plans) {
    result.digest = reader.sized_bytes();
    result.same_beginning = reader.varint();
    const bool has_digest = !result.digest.empty();
    if (has_digest && (result.digest.size() != digest_bytes || !result.names_row())) return std::nullopt;
    const std::uint64_t plans = reader.varint();
    if (!reader.ok() || plans == 0 || plans > Bookmark::left_max) return std::nullopt;
    for (std::uint64_t i = 0; i < plans; ++i) {
      Bookmark::Left& one = result.left_plans.emplace_back();
      one.identity = reader.sized_bytes();
      one.down = reader.u8() != 0;
      one.key = reader.sized_bytes();
      one.index = reader.sized_bytes();
    }
  }
  if (!reader.ok() || !reader.rest().empty()) return std::nullopt;
  return result;
}

}  // namespace octavo::query::sql

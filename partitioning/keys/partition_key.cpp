#include "partitioning/keys/partition_key.h"

#include <simdjson.h>

#include "base/murmur3.h"
#include "partitioning/keys/typed_key.h"

namespace octavo::partitioning {
namespace {

constexpr std::size_t document_id_bytes_max = 7168;  // Apache CouchDB accepts ids this long over HTTP
constexpr char string_type_byte = '\x08';            // type byte of a string in the typed encoding, version 2
constexpr char string_end_byte = '\xFF';

std::unexpected<Error> illegal_id(std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), "illegal_docid");
}
std::unexpected<Error> illegal_partition(std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), "illegal_partition");
}

Hash128 hash_of(std::string_view component) {
  std::string typed;
  typed.reserve(component.size() + 2);
  typed.push_back(string_type_byte);
  typed.append(component);
  typed.push_back(string_end_byte);
  return murmur3_x64_128(typed);
}

HashPosition position_of(std::string_view component) {
  return hash_of(component).high & (hash_space_end - 1);
}

}  // namespace

std::string_view partition_key_of(std::string_view document_id, bool partitioned) {
  if (!partitioned || document_id.starts_with("_design/")) return {};
  const std::size_t colon = document_id.find(':');
  return colon == std::string_view::npos ? std::string_view{} : document_id.substr(0, colon);
}

Expected<void> check_partition_key(std::string_view partition) {
  if (partition.empty()) return illegal_partition("Partition must not be empty");
  if (partition.front() == '_') return illegal_partition("Partition must not start with an underscore");
  if (partition.find(':') != std::string_view::npos) return illegal_partition("Partition must not contain a colon");
  if (partition.size() > document_id_bytes_max) return illegal_partition("Partition is too long");
  if (!simdjson::validate_utf8(partition.data(), partition.size())) {
    return illegal_partition("Partition must be valid UTF-8");
  }
  return {};
}

Expected<void> check_document_id(std::string_view id, bool partitioned) {
  if (id.empty()) return illegal_id("Document id must not be empty");
  if (id.size() > document_id_bytes_max) return illegal_id("Document id is too long");
  for (const std::string_view reserved : {"_design/", "_local/"}) {
    if (id.starts_with(reserved)) {
      if (id.size() == reserved.size()) return illegal_id("Illegal document id `" + std::string(id) + "`");
      return {};
    }
  }
  if (id.front() == '_') return illegal_id("Only reserved document ids may start with underscore.");
  if (!partitioned) return {};
  const std::size_t colon = id.find(':');
  if (colon == std::string_view::npos) return illegal_id("Doc id must be of form partition:id");
  if (colon == 0) return illegal_partition("Partition must not be empty");
  if (colon + 1 == id.size()) return illegal_id("Document id must not be empty");
  if (id[colon + 1] == '_') return illegal_id("Only reserved document ids may start with underscore.");
  return {};
}

std::string effective_partition_key(std::string_view string_component) {
  const Hash128 hash = hash_of(string_component);
  std::string key;
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(hash.high >> shift));
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(hash.low >> shift));
  key[0] = static_cast<char>(key[0] & 0x3F);
  return key;
}

HashPosition hash_position_of_key(std::string_view partition_key, storage::KeyScheme scheme) {
  // Common case without decoding: the text of a string without escapes is the string itself.
  const bool plain =
      scheme == storage::KeyScheme::text || (scheme == storage::KeyScheme::hash_v2 && !partition_key.starts_with('!') &&
                                             partition_key.find('%') == std::string_view::npos);
  if (plain) return position_of(partition_key);
  // Ids that the Cosmos DB API would not create have a position, too: that of their text.
  const auto key = TypedKey::decode(partition_key, scheme == storage::KeyScheme::multi_hash);
  return key ? key->position(scheme) : position_of(partition_key);
}

HashPosition hash_position(std::string_view document_id, bool partitioned, storage::KeyScheme scheme) {
  const std::string_view key = partition_key_of(document_id, partitioned);
  return key.empty() ? position_of(document_id) : hash_position_of_key(key, scheme);
}

}  // namespace octavo::partitioning

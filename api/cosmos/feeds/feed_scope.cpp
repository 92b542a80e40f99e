#include "api/cosmos/feeds/feed_scope.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "api/cosmos/call/capabilities.h"
#include "api/models/errors.h"
#include "api/models/item_key.h"
#include "base/encoding.h"
#include "partitioning/keys/range_parts.h"
#include "partitioning/keys/typed_key.h"

namespace octavo::api::cosmos {

namespace {

Expected<std::string> effective_key(std::string_view header, std::string_view name) {
  auto bytes = crypto::hex_decode(header);
  if (!bytes) {
    return fail(ErrorCode::bad_request, std::string(name) + " must be an effective partition key in hexadecimal.");
  }
  return std::move(*bytes);
}

// For a client that knows no merges.
Expected<void> refuse_merged(partitioning::Database& database, std::size_t partition_id) {
  database.note_client_without_merges();
  if (!partitioning::was_merged(database.partition_map(), partition_id)) return {};
  return fail(ErrorCode::bad_request,
              fmt::format("Partition key range {} came from a merge, and this client would read a part of it twice: it "
                          "does not say in x-ms-cosmos-sdk-supportedcapabilities that it knows merges. Use a newer "
                          "version of its library.",
                          partition_id));
}

// A bound of a physical partition is the beginning of a position, or the end of all. Others may lie inside of one.
bool begins_position(std::string_view bound, storage::KeyScheme scheme) {
  const auto position = partitioning::position_of_bound(bound, scheme);
  return position == partitioning::hash_space_end || partitioning::effective_bound(position, scheme) == bound;
}

}  // namespace

std::string session_token(std::size_t range, std::uint64_t sequence) {
  return fmt::format("{}:-1#{}", range, sequence);
}

Expected<std::size_t> parse_range_id(std::string_view text, const partitioning::Database& database) {
  if (const std::size_t comma = text.find(','); comma != std::string_view::npos) text.remove_prefix(comma + 1);
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc{} || end != text.data() + text.size() || !database.is_current(index)) {
    return fail(ErrorCode::partition_split, "The partition key range '" + std::string(text) + "' no longer exists.");
  }
  return index;
}

Expected<FeedScope> FeedScope::parse(const Request& request, partitioning::Database& database,
                                     const ContainerDefinition& container) {
  FeedScope scope;
  if (const auto header = request.header("x-ms-documentdb-partitionkey"); header && !header->empty()) {
    OCTAVO_TRY(const auto key, parse_key(*header, container));
    scope.key_values = key.values().size();
    if (is_complete(key, container)) {
      scope.partition_key = key.encode();
    } else if (!key.values().empty()) {
      scope.key_prefix = key.encode() + ',';
    }
  }
  if (const auto header = request.header("x-ms-documentdb-partitionkeyrangeid"); header && !header->empty()) {
    OCTAVO_TRY(scope.physical, parse_range_id(*header, database));
    if (!knows_merges(request)) OCTAVO_TRY_VOID(refuse_merged(database, *scope.physical));
  }
  if (const auto header = request.header("x-ms-start-epk")) {
    OCTAVO_TRY(scope.effective.min, effective_key(*header, "x-ms-start-epk"));
  }
  if (const auto header = request.header("x-ms-end-epk")) {
    OCTAVO_TRY(scope.effective.max, effective_key(*header, "x-ms-end-epk"));
  }
  return scope;
}

bool FeedScope::holds(std::string_view document_id, const ContainerDefinition& container) const {
  if (!partition_key.empty()) return storage::in_logical_partition(document_id, partition_key);
  if (!key_prefix.empty() && !document_id.starts_with(key_prefix)) return false;
  if (!is_bounded()) return true;
  return effective.holds(document_id, container.key_scheme);
}

std::vector<std::size_t> FeedScope::partition_ids(const partitioning::Database& database,
                                                  const partitioning::PartitionMap& map,
                                                  const ContainerDefinition& container) const {
  if (physical) return {*physical};
  if (!partition_key.empty() || !key_prefix.empty()) {
    // The first value of a hierarchical key decides the physical partition.
    const std::string_view key =
        partition_key.empty() ? std::string_view(key_prefix).substr(0, key_prefix.size() - 1) : partition_key;
    return {database.locate_partition_key(map, key)};
  }
  if (!is_bounded()) return map.partition_ids();
  return map.partition_ids_between(partitioning::position_of_bound(effective.min, container.key_scheme),
                                   last_position(container));
}

partitioning::HashPosition FeedScope::last_position(const ContainerDefinition& container) const {
  if (effective.max.empty()) return partitioning::hash_space_end - 1;
  const auto bound = partitioning::position_of_bound(effective.max, container.key_scheme);
  return begins_position(effective.max, container.key_scheme) && bound > 0 ? bound - 1 : bound;
}

bool FeedScope::is_of_whole_positions(const ContainerDefinition& container) const {
  return begins_position(effective.min, container.key_scheme) && begins_position(effective.max, container.key_scheme);
}

Expected<std::vector<std::size_t>> FeedScope::current_partition_ids(const partitioning::Database& database,
                                                                    const ContainerDefinition& container) const {
  if (!partition_key.empty()) return std::vector{database.locate_partition_key(partition_key)};
  if (physical && !database.is_current(*physical)) return storage::PhysicalPartition::was_split();
  return partition_ids(database, container);
}

}  // namespace octavo::api::cosmos

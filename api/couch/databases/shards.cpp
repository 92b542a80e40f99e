#include "api/couch/databases/shards.h"

#include <fmt/format.h>

#include "api/couch/call/document_id.h"
#include "api/couch/server/server.h"
#include "partitioning/keys/partition_key.h"
#include "storage/catalog.h"

namespace octavo::api::couch {

namespace {

Expected<Reply> shards(const Call& call) {
  Reply reply;
  reply.body = "{\"shards\":{";
  for (const auto& entry : call.database->partition_map().ranges()) {
    if (reply.body.back() != '{') reply.body += ',';
    reply.body += fmt::format("\"{}\":[\"{}\"]", shard_range(entry), node_name);
  }
  reply.body += "}}\n";
  return reply;
}

Expected<Reply> shard_of_document(const Call& call) {
  const auto& id = call.path("docid");
  OCTAVO_TRY_VOID(check_id(id, *call.database));
  const auto& map = call.database->partition_map();
  const auto& entry = *map.range_of(call.database->locate_document(map, id));
  Reply reply;
  reply.body = fmt::format("{{\"range\":\"{}\",\"nodes\":[\"{}\"]}}\n", shard_range(entry), node_name);
  return reply;
}

}  // namespace

// The hash space has 62 bits; clients expect ranges of 32 bits.
std::string shard_range(const storage::PartitionMapEntry& entry) {
  constexpr int shift = 30;
  static_assert(partitioning::hash_space_end == std::uint64_t{1} << (32 + shift));
  return fmt::format("{:08x}-{:08x}", entry.first >> shift, entry.last >> shift);
}

Task<Expected<Reply>> get_shards(Call& call) {
  co_return shards(call);
}

Task<Expected<Reply>> get_shard_of_document(Call& call) {
  co_return shard_of_document(call);
}

}  // namespace octavo::api::couch

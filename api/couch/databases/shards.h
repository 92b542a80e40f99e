#pragma once

#include "api/couch/call/call.h"

/// The partition map in the form of CouchDB's shards: ranges of a 32-bit hash, all on this node.
namespace octavo::api::couch {

/// The range of a physical partition, such as "00000000-7fffffff".
std::string shard_range(const storage::PartitionMapEntry& entry);
Task<Expected<Reply>> get_shards(Call& call);             // GET /{db}/_shards
Task<Expected<Reply>> get_shard_of_document(Call& call);  // GET /{db}/_shards/{docid}

}  // namespace octavo::api::couch

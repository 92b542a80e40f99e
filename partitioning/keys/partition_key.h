#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "storage/catalog.h"

namespace octavo::partitioning {

/// Position of a document in the hash space, which physical partitions divide: the first 8 bytes of the effective
/// partition key, big endian. The two top bits of version-2 keys are clear, so values fill 0 … hash_space_end-1.
using HashPosition = std::uint64_t;
inline constexpr HashPosition hash_space_end = 1ULL << 62;

/// The partition key of a document id in a partitioned database: the part before the first ':'. Empty for design
/// documents. The id must be valid (see check_document_id).
std::string_view partition_key_of(std::string_view document_id, bool partitioned);

/// CouchDB's rules for document ids, with its texts; for a partitioned database also `partition:key`.
/// Errors: bad_request (illegal_docid, CouchDB's word), too_large.
Expected<void> check_document_id(std::string_view id, bool partitioned);
/// CouchDB's rules for the partition in a URL (`_partition/{p}`).
Expected<void> check_partition_key(std::string_view partition);

/// Effective partition key, version 2, of one string component, as in Azure Cosmos DB: MurmurHash3 x64-128 over the
/// typed encoding, bytes reversed, top two bits cleared. 16 bytes.
std::string effective_partition_key(std::string_view string_component);

/// Position of a document: by its partition key in a partitioned database (design documents by their id), else by its
/// id.
HashPosition hash_position(std::string_view document_id, bool partitioned,
                           storage::KeyScheme scheme = storage::KeyScheme::text);
HashPosition hash_position_of_key(std::string_view partition_key, storage::KeyScheme scheme = storage::KeyScheme::text);

}  // namespace octavo::partitioning

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

/// What a request costs, in request units: 1 RU is the point read of a document of 1 KB. The one model of the server,
/// shared by both doors; docs/cosmos.md shows it as a table.
///
/// The figures follow what Azure Cosmos DB charges for the same work with its default policy (every path indexed):
/// reading costs little more for larger documents, writing costs by size and by what is indexed, changing a document
/// costs twice, as old entries go and new ones come.
namespace octavo::partitioning {

using RequestUnits = double;

struct WriteWork {
  std::size_t body_bytes = 0;       ///< of the new document
  std::size_t properties = 0;       ///< values in it: each is an index entry of the default policy
  bool replaces = false;            ///< there was a document before
};

RequestUnits charge_of_read(std::size_t body_bytes);
/// A point read that found nothing, or nothing newer.
RequestUnits charge_of_miss();
RequestUnits charge_of_write(const WriteWork& work);
RequestUnits charge_of_delete(std::size_t body_bytes);
/// Reading on in a feed or a query: `keys` index entries or document keys looked at, `documents` read with together
/// `document_bytes`, `result_bytes` sent.
RequestUnits charge_of_scan(std::uint64_t keys, std::uint64_t documents, std::uint64_t document_bytes,
                            std::uint64_t result_bytes);
/// Databases, containers, ranges: reading or changing what the server knows of itself.
RequestUnits charge_of_metadata();

/// With two decimals, as headers have it: "5.29".
std::string format_charge(RequestUnits charge);

/// Values in a minified JSON document: what WriteWork::properties wants. Linear, without parsing.
std::size_t count_properties(const char* json, std::size_t bytes);

}  // namespace octavo::partitioning

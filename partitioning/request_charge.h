#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

/// What a request costs, in request units: 1 RU is the point read of a document of 1 KB. The one model of the server,
/// shared by both doors; docs/request-units.md shows it with the measurements it comes from.
///
/// A charge follows from the work alone: bytes read and written, rows of indexes touched, documents loaded, partitions
/// visited, time of functions. The same request on the same data costs the same each time.
namespace octavo::partitioning {

using RequestUnits = double;

struct WriteWork {
  std::size_t body_bytes = 0;  ///< of the new document; 0 for a deletion
  std::size_t index_rows = 0;  ///< put and erased in the transaction (storage::WrittenDocument::index_rows)
};

/// A query, a listing, a page of a feed.
struct ScanWork {
  std::size_t partitions = 1;  ///< physical partitions visited; 1 for a global index, which is one place
  std::size_t predicates = 0;  ///< properties that a query compares or sorts by, so that indexes can be asked for them
  std::uint64_t keys = 0;      ///< index entries or document keys looked at
  std::uint64_t documents = 0;
  std::uint64_t document_bytes = 0;  ///< of the documents loaded
  std::uint64_t result_bytes = 0;    ///< sent
};

RequestUnits charge_of_read(std::size_t body_bytes);
/// A point read that found nothing, or nothing newer; a write that was refused.
RequestUnits charge_of_miss();
RequestUnits charge_of_write(const WriteWork& work);
RequestUnits charge_of_scan(const ScanWork& work);
/// Processor time that a stored procedure, a trigger or a user-defined function ran, beside what it read and wrote.
RequestUnits charge_of_function(std::chrono::nanoseconds time);
/// Databases, containers, ranges: reading or changing what the server knows of itself.
RequestUnits charge_of_metadata();

/// With two decimals, as headers have it: "5.29".
std::string format_charge(RequestUnits charge);

}  // namespace octavo::partitioning

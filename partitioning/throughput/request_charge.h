#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

/// What a request costs, in request units: 1 RU is the point read of a document of 1 KB. Both APIs share this model;
/// docs/request-units.md describes it, with the measurements behind it.
///
/// A charge depends only on the work: bytes read and written, rows of indexes touched, documents loaded, partitions
/// visited, time of functions. The same request on the same data always costs the same.
namespace octavo::partitioning {

using RequestUnits = double;

struct WriteWork {
  std::size_t body_bytes = 0;  ///< of the new document; 0 for a deletion
  std::size_t index_rows = 0;  ///< put and erased in the transaction (storage::WrittenDocument::index_rows)
};

/// A query, a listing, a page of a feed.
struct ScanWork {
  std::size_t partitions = 1;  ///< physical partitions visited; 1 for a global index, which is in one place
  std::size_t predicates = 0;  ///< properties that a query compares or sorts by, for which indexes can be used
  std::uint64_t keys = 0;      ///< index entries or document keys read
  std::uint64_t documents = 0;
  std::uint64_t document_bytes = 0;  ///< of the documents loaded
  std::uint64_t result_bytes = 0;    ///< bytes sent
};

RequestUnits charge_of_read(std::size_t body_bytes);
/// A point read that found nothing, or nothing newer; a write that was rejected.
RequestUnits charge_of_miss();
RequestUnits charge_of_write(const WriteWork& work);
/// A row that a projection writes together with others, beside the first one of a batch and physical partition. That
/// one costs as much as any write.
RequestUnits charge_of_further_row(const WriteWork& work);
RequestUnits charge_of_scan(const ScanWork& work);
/// Processor time of a stored procedure, trigger or user-defined function, in addition to its reads and writes.
RequestUnits charge_of_function(std::chrono::nanoseconds time);
/// Reads and changes of metadata: databases, containers, ranges.
RequestUnits charge_of_metadata();

/// Formats with two decimals, as in headers: "5.29".
std::string format_charge(RequestUnits charge);
/// Rounded to two decimals, as in JSON.
RequestUnits rounded_charge(RequestUnits charge);

}  // namespace octavo::partitioning

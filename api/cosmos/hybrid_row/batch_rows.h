#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo::api::cosmos::hybrid_row {

/// The rows of a batch.
///
/// Format (Rows of a batch):
///   schema 2145473648, an operation
///     fixed      operationType: i32     0 create, 1 patch, 2 read, 4 delete, 5 replace, 20 upsert
///                resourceType: i32      2 item
///     variable   partitionKey: text     JSON, as in the header of a request for an item
///                effectivePartitionKey: bytes, id: text, binaryId: bytes
///                resourceBody: bytes    JSON
///     sparse     indexingDirective: text, ifMatch: text, ifNoneMatch: text, timeToLiveInSeconds: i32
///                minimalReturnPreference: boolean
///   schema 2145473649, a result
///     fixed      statusCode: i32, subStatusCode: i32
///     variable   eTag: text
///                resourceBody: bytes    JSON: the item, or what was wrong
///     sparse     retryAfterMilliseconds: u32, requestCharge: f64
struct OperationRow {
  std::int32_t operation_type = -1;
  std::optional<std::string_view> partition_key;
  std::string_view id;
  std::string_view resource_body;
  std::string_view if_match;
  std::string_view if_none_match;
  bool minimal = false;  ///< the result shall not contain the item
};

/// Texts refer to the row. Errors: bad_request for an invalid row, also for one of another kind of resource, and for
/// one with effectivePartitionKey, binaryId or timeToLiveInSeconds, which only other services of Microsoft's send.
Expected<OperationRow> read_operation(std::string_view row);

struct ResultRow {
  std::int32_t status = 0;
  std::int32_t substatus = 0;
  std::string_view etag = {};           ///< empty: none
  std::string_view resource_body = {};  ///< empty: none
  double request_charge = 0;
  std::uint32_t retry_after_ms = 0;
};

void append_result(std::string& out, const ResultRow& result);

/// Errors: bad_request. For tests and fuzzing: what a client reads.
Expected<ResultRow> read_result(std::string_view row);

}  // namespace octavo::api::cosmos::hybrid_row

#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "api/couch/call/call.h"
#include "storage/document/sequence_allocator.h"

namespace octavo::api::couch {

/// What a request that shows what follows a database waits for, by its parameters `wait_for` and `timeout`.
struct WaitFor {
  storage::Sequence sequence = 0;
  bool built = false;  ///< `wait_for` is `built`: also until nothing is built beside what answers
  std::chrono::milliseconds timeout{};

  std::chrono::steady_clock::time_point deadline() const { return std::chrono::steady_clock::now() + timeout; }
  /// `waited`, in whose error timeout `what` ("The rows are") is not that far.
  Expected<void> told(Expected<void> waited, std::string_view what) const;
};

/// nullopt: the request does not wait. `may_be_built`: the word `built` is allowed. Errors: query_parse_error:
/// `wait_for` is no sequence, or one that the database does not have, as it is of another one or of a time before a
/// restore; bad_request: `timeout`.
Expected<std::optional<WaitFor>> read_wait_for(const Call& call, bool may_be_built = false);

}  // namespace octavo::api::couch

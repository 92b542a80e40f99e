#pragma once

#include <string>
#include <string_view>

#include "api/http/reply.h"
#include "base/error.h"

namespace octavo::api::cosmos {

/// Status and names of an error in the Cosmos DB API.
struct ErrorWords {
  int status;
  int substatus;          ///< `x-ms-substatus`; 0: none
  std::string_view code;  ///< `code` of the body: "NotFound"
};

/// Values of Error::word where this API distinguishes errors that have one ErrorCode in the engine.
namespace word {
inline constexpr std::string_view key_mismatch = "partition_key_mismatch";    // 400/1001
inline constexpr std::string_view other_container = "other_container";        // 400/1024
inline constexpr std::string_view cross_partition = "cross_partition_query";  // 400/1004
inline constexpr std::string_view etag = "etag";                              // 412
inline constexpr std::string_view exists = "exists";                          // 409
inline constexpr std::string_view owner_missing = "owner_missing";            // 404/1003
inline constexpr std::string_view method = "method_not_allowed";              // 405
inline constexpr std::string_view retry_with = "retry_with";                  // 449
inline constexpr std::string_view failed_dependency = "failed_dependency";    // 424
inline constexpr std::string_view continuation = "invalid_continuation";      // 400; also of queries
inline constexpr std::string_view reply_too_large = "reply_too_large";        // 413/3402
}  // namespace word

/// Maps an error to this API's status and code.
ErrorWords words_for(const Error& error);
std::string_view error_message(const Error& error);

/// `{"code":…,"message":…}`.
Reply error_reply(const Error& error);
Reply error_reply(int status, std::string_view code, std::string_view message);

}  // namespace octavo::api::cosmos

#include "api/models/errors.h"

#include <array>
#include <string>

#include "api/http/error_body.h"

namespace octavo::api::cosmos {

namespace {

struct Word {
  std::string_view word;
  ErrorWords words;
};
constexpr std::array known_words{
    Word{word::key_mismatch, {400, 1001, "BadRequest"}},
    Word{word::other_container, {400, 1024, "BadRequest"}},
    Word{word::cross_partition, {400, 1004, "BadRequest"}},
    Word{word::etag, {412, 0, "PreconditionFailed"}},
    Word{word::exists, {409, 0, "Conflict"}},
    Word{word::owner_missing, {404, 1003, "NotFound"}},
    Word{word::method, {405, 0, "MethodNotAllowed"}},
    Word{word::retry_with, {449, 0, "RetryWith"}},
    Word{word::failed_dependency, {424, 0, "FailedDependency"}},
    Word{word::reply_too_large, {413, 3402, "RequestEntityTooLarge"}},
};

ErrorWords by_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_request:
    case ErrorCode::no_usable_index:
    case ErrorCode::index_gone:
    case ErrorCode::function_failed:
    case ErrorCode::function_stopped:
      return {400, 0, "BadRequest"};
    case ErrorCode::unauthorized:
      return {401, 0, "Unauthorized"};
    case ErrorCode::forbidden:
      return {403, 0, "Forbidden"};
    case ErrorCode::not_found:
    case ErrorCode::deleted:
      return {404, 0, "NotFound"};
    case ErrorCode::conflict:
    case ErrorCode::unique_key_violated:
      return {409, 0, "Conflict"};
    case ErrorCode::precondition_failed:
      return {412, 0, "PreconditionFailed"};
    case ErrorCode::too_large:
      return {413, 0, "RequestEntityTooLarge"};
    case ErrorCode::partition_full:
      return {403, 1014, "Forbidden"};
    case ErrorCode::unsupported:
      return {501, 0, "NotImplemented"};
    case ErrorCode::throttled:
      return {429, 3200, "TooManyRequests"};
    case ErrorCode::partition_split:
      return {410, 1002, "Gone"};
    case ErrorCode::overloaded:
    case ErrorCode::index_went_back:
      return {503, 0, "ServiceUnavailable"};
    case ErrorCode::disk_full:
      return {507, 0, "InsufficientStorage"};
    case ErrorCode::timeout:
      return {408, 0, "RequestTimeout"};
    case ErrorCode::io_failure:
    case ErrorCode::corrupted:
    case ErrorCode::internal:
      break;
  }
  return {500, 0, "InternalServerError"};
}

}  // namespace

ErrorWords words_for(const Error& error) {
  for (const auto& known : known_words) {
    if (known.word == error.word) return known.words;
  }
  return by_code(error.code);
}

std::string_view error_message(const Error& error) {
  if (!error.reason.empty()) return error.reason;
  const int status = words_for(error).status;
  switch (status) {
    case 404:
      return "Resource Not Found.";
    case 409:
      return "Resource with specified id or name already exists.";
    case 412:
      return "One of the specified pre-condition is not met.";
    case 413:
      return "Request size is too large.";
    case 503:
      return "The server is too busy or short of memory; try again later.";
    case 507:
      return "The disk is full: reads continue, writes resume when there is space again.";
    default:
      return "The request could not be served.";
  }
}

Reply error_reply(const Error& error) {
  const ErrorWords words = words_for(error);
  std::string message(error_message(error));
  if (error.word == word::continuation) message.insert(0, "Invalid Continuation Token: ");  // clients look for this
  auto reply = error_reply(words.status, words.code, message);
  if (words.substatus != 0) reply.headers.emplace_back("x-ms-substatus", std::to_string(words.substatus));
  if (words.status == 429) reply.headers.emplace_back("x-ms-retry-after-ms", std::to_string(error.retry_after_ms));
  if (words.status == 503) reply.headers.emplace_back("Retry-After", "1");
  return reply;
}

Reply error_reply(int status, std::string_view code, std::string_view message) {
  return error_body(status, {"code", code}, {"message", message});
}

}  // namespace octavo::api::cosmos

#include "api/couch/call/errors.h"

#include <array>

#include "api/http/error_body.h"

namespace octavo::api::couch {

namespace {

constexpr std::string_view default_reason(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found:
      return "missing";
    case ErrorCode::deleted:
      return "deleted";
    case ErrorCode::conflict:
      return "Document update conflict.";
    case ErrorCode::unauthorized:
      return "You are not authorized to access this db.";
    case ErrorCode::forbidden:
      return "You are not allowed to access this db.";
    case ErrorCode::too_large:
      return "the request entity is too large";
    case ErrorCode::timeout:
      return "The request could not be processed in a reasonable amount of time.";
    case ErrorCode::overloaded:
      return "The server is too busy; try again later.";
    case ErrorCode::disk_full:
      return "The disk is full: reads continue, writes resume when there is space again.";
    default:
      return "";
  }
}

// Error words that determine the status, independent of the error's code.
struct WordStatus {
  std::string_view word;
  int status;
};
constexpr std::array word_statuses{
    WordStatus{"bad_content_type", 415}, WordStatus{"method_not_allowed", 405}, WordStatus{"not_acceptable", 406},
    WordStatus{"file_exists", 412},      WordStatus{"query_timeout", 504},
};

}  // namespace

ErrorWords words_for(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_request:
      return {400, "bad_request"};
    case ErrorCode::unauthorized:
      return {401, "unauthorized"};
    case ErrorCode::forbidden:
      return {403, "forbidden"};
    case ErrorCode::not_found:
    case ErrorCode::deleted:
      return {404, "not_found"};
    case ErrorCode::conflict:
      return {409, "conflict"};
    case ErrorCode::unique_key_violated:
      return {409, "unique_key"};
    case ErrorCode::precondition_failed:
      return {412, "precondition_failed"};
    case ErrorCode::too_large:
      return {413, "too_large"};
    case ErrorCode::partition_full:
      return {403, "partition_overflow"};
    case ErrorCode::no_usable_index:
      return {400, "no_usable_index"};
    case ErrorCode::unsupported:
      return {501, "not_implemented"};
    case ErrorCode::overloaded:
      return {503, "service unavailable"};
    case ErrorCode::partition_split:
      return {503, "range_gone"};
    case ErrorCode::index_gone:
      return {400, "invalid_bookmark"};
    case ErrorCode::index_went_back:
      return {503, "index_went_back"};
    case ErrorCode::throttled:
      return {429, "too_many_requests"};
    case ErrorCode::disk_full:
      return {507, "insufficient_storage"};
    case ErrorCode::io_failure:
      return {500, "io_failure"};
    case ErrorCode::corrupted:
      return {500, "file_corruption"};
    case ErrorCode::timeout:
      return {500, "timeout"};
    case ErrorCode::function_failed:
      return {500, "function_failed"};
    case ErrorCode::function_stopped:
      return {500, "resource_limit"};
    case ErrorCode::internal:
      return {500, "internal_server_error"};
  }
  return {500, "internal_server_error"};
}

std::string_view error_word(const Error& error) {
  return error.word.empty() ? words_for(error.code).error : error.word;
}

std::string_view error_reason(const Error& error) {
  return error.reason.empty() ? default_reason(error.code) : std::string_view(error.reason);
}

void append_error_members(std::string& out, const Error& error) {
  out += "\"error\":";
  append_error_text(out, error_word(error));
  out += ",\"reason\":";
  append_error_text(out, error_reason(error));
}

Reply error_reply(const Error& error) {
  auto status = words_for(error.code).status;
  for (const auto& entry : word_statuses) {
    if (entry.word == error.word) status = entry.status;
  }
  auto reply = error_reply(status, error_word(error), error_reason(error));
  if (status == 503) reply.headers.emplace_back("Retry-After", "1");
  if (error.code == ErrorCode::throttled) {
    // Retry-After has whole seconds only; X-Retry-After-Ms is exact.
    reply.headers.emplace_back("Retry-After", std::to_string((error.retry_after_ms + 999) / 1000));
    reply.headers.emplace_back("X-Retry-After-Ms", std::to_string(error.retry_after_ms));
  }
  return reply;
}

Reply error_reply(int status, std::string_view error, std::string_view reason) {
  auto reply = error_body(status, {"error", error}, {"reason", reason});
  reply.body += '\n';
  return reply;
}

}  // namespace octavo::api::couch

#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace octavo {

/// What went wrong, in the engine's terms. One table in each API maps the codes to its status codes and words.
enum class ErrorCode : std::uint8_t {
  bad_request,          ///< malformed input; the reason says what is wrong and how to fix it
  unauthorized,         ///< no or wrong credentials
  forbidden,            ///< known user, not allowed; or refused by a validation
  not_found,            ///< never existed
  deleted,              ///< existed, is deleted now
  conflict,             ///< a revision precondition failed
  unique_key_violated,  ///< another document of the logical partition has the same unique key
  precondition_failed,  ///< e.g. the database exists already
  too_large,            ///< document, body or id over its limit
  partition_full,       ///< logical partition over its size limit
  no_usable_index,      ///< a sort that no index serves and that is too large to do in memory
  unsupported,          ///< valid in the API, but not available here
  overloaded,           ///< a bounded queue is full; retry later
  partition_split,      ///< the physical partition was split; the request should be sent again
  index_gone,           ///< the index by which earlier pages were read cannot serve the query any more
  index_went_back,      ///< a search index returned to its last commit; the query should be repeated
  throttled,            ///< the requested throughput is used up; Error::retry_after_ms says when to try again
  disk_full,            ///< ENOSPC or quota: writes fail, reads still work
  io_failure,           ///< the disk failed a read, write or sync
  corrupted,            ///< stored bytes are invalid
  timeout,
  function_failed,   ///< a design document's function threw
  function_stopped,  ///< a design document's function exceeded a limit
  internal,          ///< a bug
};

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string reason;     ///< for people: what is wrong and what to do
  std::string_view word;  ///< a literal: the API's own word for it (`illegal_docid`) if the code alone is too coarse;
                          ///< else empty
  std::uint32_t retry_after_ms = 0;  ///< for throttled

  bool operator==(const Error&) const = default;
};

template <class T>
using Expected = std::expected<T, Error>;

/// For a std::bad_alloc. Has no reason, as that would need memory; the APIs have their own texts for it.
inline std::unexpected<Error> out_of_memory() {
  return std::unexpected<Error>(Error{ErrorCode::overloaded, {}, {}});
}

/// Returns the reason, or what the code means if the error has no reason. The log and the statuses of jobs show this
/// text; replies use the texts of their API.
inline std::string_view reason_of(const Error& error) {
  if (!error.reason.empty()) return error.reason;
  return error.code == ErrorCode::overloaded ? "The server is short of memory."
                                             : "An internal error; the log has its cause.";
}

inline std::unexpected<Error> fail(ErrorCode code, std::string reason, std::string_view word = {}) {
  return std::unexpected<Error>(Error{code, std::move(reason), word});
}

}  // namespace octavo

/// Evaluates an Expected<void or T>; on error returns it from the enclosing (non-coroutine) function.
///   OCTAVO_TRY(auto tree, load_tree(id));    // declares `tree`
///   OCTAVO_TRY_VOID(transaction.commit());
#define OCTAVO_TRY(declaration, expression) \
  OCTAVO_TRY_IMPL(OCTAVO_TRY_CONCAT(octavo_result_, __LINE__), declaration, expression)
#define OCTAVO_TRY_IMPL(result, declaration, expression)          \
  auto result = (expression);                                     \
  if (!result) return std::unexpected(std::move(result).error()); \
  declaration = *std::move(result)
#define OCTAVO_TRY_CONCAT(a, b) OCTAVO_TRY_CONCAT_IMPL(a, b)
#define OCTAVO_TRY_CONCAT_IMPL(a, b) a##b
#define OCTAVO_TRY_VOID(expression)                              \
  do {                                                           \
    if (auto octavo_status_ = (expression); !octavo_status_)     \
      return std::unexpected(std::move(octavo_status_).error()); \
  } while (false)

/// The same in a coroutine: the expression may contain co_await.
///   OCTAVO_CO_TRY(const auto saved, co_await save(call, edit));
#define OCTAVO_CO_TRY(declaration, expression) \
  OCTAVO_CO_TRY_IMPL(OCTAVO_TRY_CONCAT(octavo_result_, __LINE__), declaration, expression)
#define OCTAVO_CO_TRY_IMPL(result, declaration, expression)          \
  auto result = (expression);                                        \
  if (!result) co_return std::unexpected(std::move(result).error()); \
  declaration = *std::move(result)
#define OCTAVO_CO_TRY_VOID(expression)                              \
  do {                                                              \
    if (auto octavo_status_ = (expression); !octavo_status_)        \
      co_return std::unexpected(std::move(octavo_status_).error()); \
  } while (false)

#include "api/couch/call/wait_for.h"

#include <utility>

#include <fmt/format.h>

#include "api/couch/call/query_parameters.h"
#include "partitioning/database.h"

namespace octavo::api::couch {

namespace {

constexpr std::size_t wait_default_ms = 10'000;
constexpr std::size_t wait_max_ms = 600'000;

// The feed begins again for a sequence that the database does not have. Waiting for it would end at once.
bool is_of_another(std::string_view text, storage::Sequence sequence) {
  const auto digit = text.find_first_not_of("\"0");
  return sequence == 0 && digit != std::string_view::npos && text[digit] >= '1' && text[digit] <= '9';
}

}  // namespace

Expected<void> WaitFor::told(Expected<void> waited, std::string_view what) const {
  if (waited || waited.error().code != ErrorCode::timeout) return waited;
  return fail(ErrorCode::timeout, fmt::format("{} not that far after {} ms: ask again, or with a longer `timeout`.",
                                              what, timeout.count()));
}

Expected<std::optional<WaitFor>> read_wait_for(const Call& call, bool may_be_built) {
  const auto wanted = call.request.parameter("wait_for");
  if (!wanted) return std::nullopt;
  const bool built = may_be_built && *wanted == "built";
  const std::string_view text = built ? "now" : std::string_view(*wanted);
  const auto position = call.database->parse_sequence(text);
  if (!position) {
    return fail(
        ErrorCode::bad_request,
        fmt::format("`wait_for` must be `now`,{} or a sequence of the database.", may_be_built ? " `built`," : ""),
        "query_parse_error");
  }
  if (text != "now" && is_of_another(text, position->sequence)) {
    return fail(ErrorCode::bad_request,
                "The database does not have the sequence of `wait_for`: take `update_seq` of GET /{db}, or `now`.",
                "query_parse_error");
  }
  OCTAVO_TRY(const auto timeout_ms, wanted_count(call.request, "timeout", wait_default_ms, wait_max_ms));
  return WaitFor{position->sequence, built, std::chrono::milliseconds(timeout_ms)};
}

}  // namespace octavo::api::couch

#include "api/cosmos/call/script_reply.h"

#include <string>

#include "api/http/request.h"
#include "api/models/errors.h"
#include "base/json_writer.h"

namespace octavo::api::cosmos {

Reply script_failure_reply(const query::javascript::ScriptResult::Failure& failure) {
  std::string message = "Message: {\"Errors\":[";
  append_json_string(message, "Encountered exception while executing Javascript. Exception = " + failure.text);
  message += "]}";
  auto reply = error_reply(400, "BadRequest", message);
  if (failure.number != 0) reply.headers.emplace_back("x-ms-substatus", std::to_string(failure.number));
  return reply;
}

void add_script_log(Reply& reply, std::string_view log) {
  // Lines are separated, not ended: clients compare the log of a single line.
  if (log.ends_with('\n')) log.remove_suffix(1);
  reply.headers.emplace_back("x-ms-documentdb-script-log-results", percent_encode(log));
}

}  // namespace octavo::api::cosmos

#pragma once

#include <string_view>

#include "api/http/reply.h"
#include "query/javascript/script.h"

namespace octavo::api::cosmos {

/// 400 with the error that a function threw; the number in it is the sub-status.
Reply script_failure_reply(const query::javascript::ScriptResult::Failure& failure);
/// Adds the header with the output of console.log, percent-encoded.
void add_script_log(Reply& reply, std::string_view log);

}  // namespace octavo::api::cosmos

#pragma once

#include <string_view>

#include "api/http/reply.h"
#include "query/javascript/script.h"

namespace octavo::api::cosmos {

/// 400 with what a function threw; the status that the thrown value names is the sub-status.
Reply script_failure_reply(const query::javascript::ScriptResult::Failure& failure);
/// The header with what console.log wrote, percent-encoded.
void add_script_log(Reply& reply, std::string_view log);

}  // namespace octavo::api::cosmos

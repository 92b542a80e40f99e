#pragma once

#include "api/couch/call/call.h"

namespace octavo::api::couch {

/// `GET /{db}/_throughput?hot=10`.
Task<Expected<Reply>> get_throughput(Call& call);

}  // namespace octavo::api::couch

#pragma once

#include "api/cosmos/call/call.h"

namespace octavo::api::cosmos {

/// scripts.cpp: …/sprocs, …/triggers, …/udfs; answers 405 to methods that these resources do not have.
Handled serve_scripts(Call& call);
Handled execute_procedure(Call& call);  ///< stored_procedure.cpp: POST …/sprocs/{id}

}  // namespace octavo::api::cosmos

#include "api/cosmos/patch_condition.h"

#include "api/cosmos/errors.h"

namespace octavo::api::cosmos {

Task<Expected<void>> check_patch_condition(std::shared_ptr<partitioning::Database>, const ContainerDefinition&,
                                           ItemOperation&) {
  co_return fail(ErrorCode::unsupported, "Conditions of a patch are not available in this version.");
}

}  // namespace octavo::api::cosmos

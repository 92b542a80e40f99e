#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/cosmos/call.h"
#include "api/cosmos/container_definition.h"
#include "api/cosmos/item.h"
#include "api/cosmos/patch.h"

namespace octavo::api::cosmos {

/// A write of one item, as a request asks for it.
struct ItemRequest {
  enum class Kind : std::uint8_t { create, upsert, replace, remove, patch };
  Kind kind = Kind::create;
  partitioning::TypedKey key;
  std::string id;
  std::string body;  ///< create, upsert, replace: the item as it will be stored
  Patch patch;
  MatchCondition match;
};

/// Whether functions have a say in this request: triggers that it names.
bool has_functions(const Call& call);

/// Writes the item with the triggers that the request names: pre-triggers, the write, post-triggers, in one transaction
/// of the item's partition key. On a worker; runs again when others write there meanwhile.
Handled write_with_functions(Call& call, const OpenContainer& opened, ItemRequest request);

}  // namespace octavo::api::cosmos

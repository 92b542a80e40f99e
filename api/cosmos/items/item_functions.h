#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/cosmos/call/call.h"
#include "api/cosmos/items/patch.h"
#include "api/models/container_definition.h"
#include "api/models/item.h"
#include "api/scripts/write_rules.h"

namespace octavo::api::cosmos {

/// A write of one item, as requested.
struct ItemRequest {
  enum class Kind : std::uint8_t { create, upsert, replace, remove, patch };
  Kind kind = Kind::create;
  partitioning::TypedKey key;
  std::string id;
  std::string body_id;  ///< of a replacement: the id in the body; empty: the same
  std::string body;     ///< create, upsert, replace: the item as it will be stored
  Patch patch;
  MatchCondition match;
};

/// The validations that the design documents of the container's database contain; nullopt: none (one atomic load).
Expected<std::optional<scripts::WriteRules>> rules_of(const Call& call, const OpenContainer& opened);

/// Whether this write runs functions: triggers that the request names, or validations of the database.
Expected<bool> has_functions(const Call& call, const OpenContainer& opened);

/// Writes the item with its functions (pre-triggers, the write with the database's validations, post-triggers) in one
/// transaction on the item's partition key. Runs on a worker; retries if other writes interfere.
Handled write_with_functions(Call& call, const OpenContainer& opened, ItemRequest request);

}  // namespace octavo::api::cosmos

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/cosmos/item.h"
#include "api/cosmos/patch.h"
#include "storage/physical_partition.h"

namespace octavo::api::cosmos {

/// What became of one operation on an item.
struct OperationResult {
  int status = 0;
  std::optional<Error> error;
  storage::Revision revision;
  std::int64_t modified_s = 0;
  std::uint64_t sequence = 0;
  std::string body;            ///< the item's, stored form, where it is shown
  bool body_left_out = false;  ///< as the reply has no place for it
  double charge = 0;
};

/// One operation of a batch, or a patch: parsed on the way in, run inside a partition's transaction.
struct ItemOperation {
  enum class Kind : std::uint8_t { create, upsert, read, replace, remove, patch };
  Kind kind = Kind::read;
  std::string document_id;
  std::string item_id;
  partitioning::TypedKey key;
  std::string body;  ///< stored form
  Patch patch;
  MatchCondition match;
  std::optional<Error> refused;  ///< it never can succeed

  /// Runs it; the outer error ends the transaction, everything else is in the result.
  Expected<OperationResult> run(storage::DocumentTransaction& transaction, const ContainerDefinition& container,
                                std::size_t item_bytes_max) const;
};

}  // namespace octavo::api::cosmos

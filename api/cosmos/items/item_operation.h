#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/cosmos/items/patch.h"
#include "api/models/item.h"
#include "storage/document/revision.h"
#include "storage/partition/document_transaction.h"

namespace octavo::api::cosmos {

/// The result of one operation on an item.
struct OperationResult {
  int status = 0;
  std::optional<Error> error;
  storage::Revision revision;
  std::int64_t modified_s = 0;
  std::uint64_t sequence = 0;
  std::string body;            ///< the item's, in stored form, if the reply shows it
  bool body_left_out = false;  ///< the reply would be too large
  double charge = 0;
};

/// Of an operation that found nothing to do.
OperationResult failed_operation(Error error);

/// One operation of a batch, or a patch. Parsed with the request, run in a transaction of a partition.
struct ItemOperation {
  enum class Kind : std::uint8_t { create, upsert, read, replace, remove, patch };
  Kind kind = Kind::read;
  std::string document_id;
  std::string item_id;
  std::string former_document_id;  ///< of a replacement that gives the item another id; empty: it keeps it
  partitioning::TypedKey key;
  std::string body;  ///< stored form
  Patch patch;
  MatchCondition match;
  std::string known_etag;        ///< of a read: the result is 304 if it is still the item's, or "*"; empty: none
  bool shows_body = true;        ///< the result of a write has the item
  std::optional<Error> refused;  ///< set: the operation is invalid, and run fails with it

  bool gives_other_id() const { return !former_document_id.empty(); }

  /// Runs it. An outer error aborts the transaction; every other error is in the result, and then nothing is written,
  /// unless the operation gives the item another id: its transaction must be rolled back.
  Expected<OperationResult> run(storage::DocumentTransaction& transaction, const ContainerDefinition& container,
                                std::size_t item_bytes_max) const;
};

}  // namespace octavo::api::cosmos

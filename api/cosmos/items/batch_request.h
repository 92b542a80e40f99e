#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cosmos/call/call.h"
#include "api/cosmos/items/item_operation.h"

namespace octavo::api::cosmos {

/// One operation as the body has it.
struct OperationText {
  ItemOperation::Kind kind = ItemOperation::Kind::read;
  std::optional<std::string> partition_key;  ///< JSON
  std::string id;                            ///< of a creation or an upsert it is in the body
  std::string_view body;                     ///< JSON; empty: none
  std::string match;
  std::string none_match;
  bool shows_body = true;

  /// Whether it may make an item that was not there.
  bool creates() const { return kind == ItemOperation::Kind::create || kind == ItemOperation::Kind::upsert; }
  /// Whether its body is an item.
  bool has_item() const { return creates() || kind == ItemOperation::Kind::replace; }
};

/// A batch as requested.
struct Batch {
  bool atomic = false;
  bool continues_on_error = true;
  bool in_hybrid_row = false;                  ///< its body, and so its reply; otherwise JSON
  std::string_view key_json;                   ///< in the header, when atomic
  std::size_t partition_id = 0;                ///< physical partition of all operations, when not atomic
  std::vector<Expected<OperationText>> texts;  ///< an error fails the operation, not the batch
  std::optional<partitioning::TypedKey> key;   ///< of all operations, when atomic
  std::vector<ItemOperation> operations;
};

/// Reads the headers, and divides the body into `texts`. Errors: bad_request, too_large, partition_split for a range
/// that does not exist.
Expected<Batch> divide_batch(const Call& call, const OpenContainer& opened);

/// Reads the key in the header, when atomic. Errors: bad_request.
Expected<void> read_batch_key(Batch& batch, const ContainerDefinition& container);

/// The operation of a text. `key`: of its item; nullopt: the one in the text, or else in the item. An error is kept in
/// the operation.
ItemOperation read_operation(const Expected<OperationText>& text, const Call& call, const OpenContainer& opened,
                             const std::optional<partitioning::TypedKey>& key);

/// Fills `operations` from the texts. Those that are not of the batch's key or range are refused.
void read_operations(Batch& batch, const Call& call, const OpenContainer& opened);

/// The error of an operation that is not of the batch's range.
Error not_of_range();

}  // namespace octavo::api::cosmos

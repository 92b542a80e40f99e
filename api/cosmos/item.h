#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/cosmos/container_definition.h"
#include "api/cosmos/item_key.h"
#include "api/http/request.h"
#include "partitioning/typed_key.h"
#include "storage/document.h"

namespace octavo::api::cosmos {

/// An item as sent, checked: what the store keeps of it.
struct Item {
  std::string id;
  partitioning::TypedKey key;
  std::string body;  ///< minified JSON, `id` in it, without system properties
};

/// A property at the top that clients cannot write: the server's, or a document's metadata.
bool is_reserved_property(std::string_view name);

/// Errors: bad_request, too_large; partition_key_mismatch when `named` is given and the item's key is another.
Expected<Item> parse_item(std::string_view json, const ContainerDefinition& container, std::size_t bytes_max,
                          const std::optional<partitioning::TypedKey>& named);
/// Whether a body that a patch made of `before` still is that item: same id, same key. Errors as above.
Expected<void> check_same_item(std::string_view before, std::string_view after, const ContainerDefinition& container,
                               std::size_t bytes_max);

/// `If-Match`: what the item must be. Absent: no condition; `any` for `*`.
struct MatchCondition {
  bool given = false;
  bool any = false;
  std::optional<storage::Revision> revision;  ///< none though given: a tag that no item has

  static MatchCondition parse(std::optional<std::string_view> header);
};

/// The edit that puts `item` in place of what is there. `must_exist`: replace; otherwise upsert.
storage::DocumentWrite replacing_write(std::string document_id, std::string body, bool must_exist,
                                       const MatchCondition& condition);
storage::DocumentWrite deleting_write(std::string document_id, const MatchCondition& condition);
storage::DocumentWrite creating_write(std::string document_id, std::string body);

/// An edit's error as this dialect has it: a conflict is 409 or, if the edit had a condition, 412.
Error in_cosmos_words(Error error, bool conditional);

}  // namespace octavo::api::cosmos

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/http/request.h"
#include "api/models/container_definition.h"
#include "api/models/item_key.h"
#include "partitioning/keys/typed_key.h"
#include "storage/document/document.h"

namespace octavo::api::cosmos {

/// A checked item from a request, as it will be stored.
struct Item {
  std::string id;
  partitioning::TypedKey key;
  std::string body;  ///< minified JSON, `id` in it, without system properties
};

/// Whether clients cannot set this top-level property: the server sets it, or it is metadata of documents.
bool is_reserved_property(std::string_view name);

/// Errors: bad_request, too_large; partition_key_mismatch if `named` is given and differs from the item's key.
Expected<Item> parse_item(std::string_view json, const ContainerDefinition& container, std::size_t bytes_max,
                          const std::optional<partitioning::TypedKey>& named);
/// Checks that `after`, made from `before` by a patch, is the same item: same id, same key. Errors as above.
Expected<void> check_same_item(std::string_view before, std::string_view after, const ContainerDefinition& container,
                               std::size_t bytes_max);

/// `If-Match`: a condition on the item's revision. Absent: no condition; `any` for `*`.
struct MatchCondition {
  bool given = false;
  bool any = false;
  std::optional<storage::Revision> revision;  ///< nullopt though given: a malformed tag, which matches no item

  static MatchCondition parse(std::optional<std::string_view> header);
};

/// An edit that replaces the current item. `must_exist`: replace; otherwise upsert.
storage::DocumentWrite replacing_write(std::string document_id, std::string body, bool must_exist,
                                       const MatchCondition& condition);
storage::DocumentWrite deleting_write(std::string document_id, const MatchCondition& condition);
storage::DocumentWrite creating_write(std::string document_id, std::string body);

/// Translates an edit's error to this API: a conflict is 409 or, if the edit had a condition, 412.
Error in_cosmos_words(Error error, bool conditional);

}  // namespace octavo::api::cosmos

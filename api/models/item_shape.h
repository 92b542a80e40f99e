#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query/sql/evaluate/row_shape.h"
#include "storage/document/document.h"

namespace octavo::api::cosmos {

struct ContainerDefinition;

/// `_self` and `_attachments` of an item.
enum class ItemLinks : std::uint8_t { shown, left_out };

/// Renders the documents of a container as items: the stored body, `id` from the document id if the body has none, and
/// the system properties `_rid _self _etag _attachments _ts`. Immutable; one per container.
class ItemShape final : public query::sql::RowShape {
 public:
  explicit ItemShape(const ContainerDefinition& container);

  /// Appends the item of a document with this id, revision, time and body.
  void append_item(std::string& out, std::string_view document_id, const storage::Revision& revision,
                   std::int64_t modified_s, std::string_view body, ItemLinks links = ItemLinks::shown) const;

  const std::string& container_rid() const { return container_rid_; }  ///< in base64
  std::string rid_of(std::string_view document_id) const;              ///< in base64

  bool is_row(const storage::DocumentView& document) const override;
  bool is_system_property(std::string_view name) const override;
  void append_system_property(const storage::DocumentView& document, std::string_view name,
                              std::string& out) const override;
  void append_row(const storage::DocumentView& document, std::string& out) const override;
  std::optional<query::FieldPath> field_path(std::span<const std::string> path) const override;
  std::optional<std::uint64_t> number_of(std::string_view document_id) const override;
  query::sql::Narrowing narrow(std::span<const query::sql::FixedProperty> fixed) const override;

 private:
  std::string rid_;            // 8 bytes
  std::string container_rid_;  // in base64
  std::string self_;           // "dbs/…/colls/…/"
  std::vector<std::vector<std::string>> key_paths_;
  bool hierarchical_;
};

/// `"…"`: an entity tag as in headers and `_etag`.
std::string quoted_etag(const storage::Revision& revision);

}  // namespace octavo::api::cosmos

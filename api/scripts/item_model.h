#pragma once

#include <string>
#include <string_view>

#include "api/models/container_definition.h"
#include "api/scripts/document_model.h"
#include "partitioning/keys/typed_key.h"

namespace octavo::api::cosmos {

/// Presents the documents of one logical partition to functions as items. The definition must outlive it.
class ItemModel final : public scripts::DocumentModel {
 public:
  /// `link`: `dbs/{db}/colls/{coll}`, by names.
  ItemModel(const ContainerDefinition& container, partitioning::TypedKey key, std::string link, std::size_t bytes_max)
      : container_(container), key_(std::move(key)), link_(std::move(link)), bytes_max_(bytes_max) {}

  Expected<Parsed> parse(std::string_view json, bool makes_id) const override;
  bool gives_other_ids() const override { return true; }
  void append(std::string& out, const storage::DocumentView& document) const override;
  std::string self_link() const override { return container_.self_link(); }
  std::string alt_link() const override { return link_; }
  std::string document_id(std::string_view id) const override;
  std::string self_name(std::string_view document_id) const override;
  const query::sql::RowShape& shape() const override;
  query::sql::ComputedProperties::Ptr computed_properties() const override { return container_.computed; }

 private:
  const ContainerDefinition& container_;
  const partitioning::TypedKey key_;
  const std::string link_;
  const std::size_t bytes_max_;
};

}  // namespace octavo::api::cosmos

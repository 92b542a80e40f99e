#include "api/scripts/item_model.h"

#include "api/models/item.h"
#include "api/models/item_key.h"
#include "api/models/item_shape.h"
#include "api/models/resource_id.h"
#include "query/index/raw_field.h"
#include "query/json/property_path.h"

namespace octavo::api::cosmos {

namespace {

// Adds a new id, as Cosmos DB's server-side API does.
std::string with_new_id(std::string_view json) {
  std::string whole = "{\"id\":\"" + new_uuid() + '"';
  if (json != "{}") whole += ',';
  whole += json.substr(1);
  return whole;
}

bool lacks_id(std::string_view json) {
  static const query::FieldPath path = query::property_field_path({"id"});
  if (!json.starts_with('{')) return false;
  const std::string_view id = query::find_raw_field(json, path);
  return id.empty() || id == "\"\"";
}

}  // namespace

Expected<scripts::DocumentModel::Parsed> ItemModel::parse(std::string_view json, bool makes_id) const {
  std::string whole;
  if (makes_id && lacks_id(json)) {
    whole = with_new_id(json);
    json = whole;
  }
  OCTAVO_TRY(auto item, parse_item(json, container_, bytes_max_, key_));
  return Parsed{.id = cosmos::document_id(item.key, item.id), .body = std::move(item.body), .revision = {}};
}

void ItemModel::append(std::string& out, const storage::DocumentView& document) const {
  container_.shape->append_row(document, out);
}

std::string ItemModel::document_id(std::string_view id) const {
  return cosmos::document_id(key_, id);
}

std::string ItemModel::self_name(std::string_view document_id) const {
  return container_.shape->rid_of(document_id);
}

const query::sql::RowShape& ItemModel::shape() const {
  return *container_.shape;
}

}  // namespace octavo::api::cosmos

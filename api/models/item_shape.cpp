#include "api/models/item_shape.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "api/models/container_definition.h"
#include "api/models/item_key.h"
#include "api/models/resource_id.h"
#include "base/json_writer.h"
#include "query/index/raw_field.h"
#include "query/json/property_path.h"
#include "query/json/split.h"

namespace octavo::api::cosmos {

namespace {

constexpr std::array<std::string_view, 6> item_system_properties{"id", "_rid", "_self", "_etag", "_attachments", "_ts"};

const query::FieldPath& id_path() {
  static const query::FieldPath path = query::property_field_path({"id"});
  return path;
}

// Whether the body contains this id. Bodies from the Cosmos DB API do, usually as the first member.
bool says_id(std::string_view body, std::string_view id) {
  constexpr std::string_view body_start = "{\"id\":\"";
  if (body.starts_with(body_start) && body.substr(body_start.size()).starts_with(id) &&
      body.substr(body_start.size() + id.size()).starts_with('"') && id.find('\\') == std::string_view::npos) {
    return true;
  }
  const std::string_view raw = query::find_raw_field(body, id_path());
  if (raw.empty() || raw.front() != '"') return false;
  const auto text = query::decode_json_string(raw);
  return text && *text == id;
}

// Appends the members other than "id".
void append_other_members(std::string& out, std::string_view body) {
  const auto members = query::split_object(body);
  if (!members) return;
  for (const auto& member : *members) {
    if (member.name == "id") continue;
    append_json_key(out, member.name);
    out += member.raw;
  }
}

}  // namespace

std::string quoted_etag(const storage::Revision& revision) {
  std::string etag;
  etag.reserve(40);
  etag += '"';
  revision.append_to(etag);
  etag += '"';
  return etag;
}

ItemShape::ItemShape(const ContainerDefinition& container)
    : rid_(container.rid),
      container_rid_(show_rid(container.rid)),
      self_(container.self_link()),
      hierarchical_(container.hierarchical()) {
  for (const auto& text : container.key_path_texts) key_paths_.push_back(query::split_property_path(text).value());
}

std::string ItemShape::rid_of(std::string_view document_id) const {
  return show_rid(item_rid(rid_, document_id));
}

void ItemShape::append_item(std::string& out, std::string_view document_id, const storage::Revision& revision,
                            std::int64_t modified_s, std::string_view body, ItemLinks links) const {
  const std::string_view id = item_id_of(document_id);
  out.reserve(out.size() + body.size() + id.size() + 256);
  if (says_id(body, id)) {
    out.append(body, 0, body.size() - 1);
  } else {
    out += "{\"id\":";
    append_json_string(out, id);
    append_other_members(out, body);
  }
  const std::string rid = rid_of(document_id);
  out += ",\"_rid\":\"";
  out += rid;
  const bool shows_links = links == ItemLinks::shown;
  if (shows_links) {
    out += "\",\"_self\":\"";
    out += self_;
    out += "docs/";
    out += rid;
    out += '/';
  }
  out += "\",\"_etag\":\"\\\"";
  revision.append_to(out);
  out += "\\\"\",";
  if (shows_links) out += "\"_attachments\":\"attachments/\",";
  out += "\"_ts\":";
  append_json_number(out, modified_s);
  out += '}';
}

bool ItemShape::is_row(const storage::DocumentView& document) const {
  return !document.id.starts_with('_');
}

bool ItemShape::is_system_property(std::string_view name) const {
  return std::ranges::find(item_system_properties, name) != item_system_properties.end();
}

void ItemShape::append_system_property(const storage::DocumentView& document, std::string_view name,
                                       std::string& out) const {
  if (name == "id") {
    append_json_string(out, item_id_of(document.id));
  } else if (name == "_rid") {
    append_json_string(out, rid_of(document.id));
  } else if (name == "_self") {
    append_json_string(out, self_ + "docs/" + rid_of(document.id) + "/");
  } else if (name == "_etag") {
    append_json_string(out, quoted_etag(document.revision));
  } else if (name == "_attachments") {
    out += "\"attachments/\"";
  } else if (name == "_ts") {
    append_json_number(out, document.modified_s);
  }
}

void ItemShape::append_row(const storage::DocumentView& document, std::string& out) const {
  append_item(out, document.id, document.revision, document.modified_s, document.body);
}

std::optional<query::FieldPath> ItemShape::field_path(std::span<const std::string> path) const {
  if (path.empty() || is_system_property(path.front())) return std::nullopt;
  return query::property_field_path({path.begin(), path.end()});
}

std::optional<std::uint64_t> ItemShape::number_of(std::string_view document_id) const {
  return item_number(document_id);
}

query::sql::Narrowing ItemShape::narrow(std::span<const query::sql::FixedProperty> fixed) const {
  // If every value of the key is one constant, it names one logical partition; with the id, one document.
  std::vector<partitioning::KeyValue> values;
  for (const auto& path : key_paths_) {
    const auto found = std::ranges::find_if(fixed, [&](const auto& one) { return std::ranges::equal(one.path, path); });
    if (found == fixed.end() || found->values.size() != 1) return {};
    const auto& value = found->values.front();
    if (value.is_string()) {
      values.emplace_back(std::string(value.get_string()));
    } else if (value.is_bool()) {
      values.emplace_back(value.get_bool());
    } else if (value.is_null()) {
      values.emplace_back(partitioning::NullValue{});
    } else if (value.is_number() && std::isfinite(value.to_number<double>())) {
      const double number = value.to_number<double>();
      values.emplace_back(number == 0 ? 0.0 : number);
    } else {
      return {};
    }
  }
  const partitioning::TypedKey key(std::move(values), hierarchical_);
  query::sql::Narrowing narrowing;
  const auto ids =
      std::ranges::find_if(fixed, [](const auto& one) { return one.path.size() == 1 && one.path[0] == "id"; });
  if (ids != fixed.end()) {
    narrowing.document_ids.emplace();
    for (const auto& id : ids->values) {
      if (id.is_string()) narrowing.document_ids->push_back(document_id(key, std::string_view(id.get_string())));
    }
  } else {
    narrowing.partition_key = key.encode();
  }
  return narrowing;
}

}  // namespace octavo::api::cosmos

#include "query/index/index_definition.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/digest.h"
#include "query/collation/collation.h"
#include "query/index/automatic_index.h"
#include "query/json/parsed_document.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

// Format (identity of a JSON index):
//   identity := 32 hexadecimal digits: the first 16 bytes of SHA-256 over
//               "octavo-index-2\n" collation version "\n" ("local" | "global") "\n" definition (JSON)
// Part of every identity: raise it when the entry format (index_entry.h) changes, so that all indexes are built again.
constexpr std::string_view entry_format = "octavo-index-2";

std::unexpected<Error> bad(std::string_view word, std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), word);
}

Expected<OrderedField> ordered_field(const json::value& value) {
  std::string_view name;
  bool descending = false;
  if (is_text(value)) {
    name = value.get_string();
  } else if (value.is_object() && value.get_object().size() == 1) {
    const auto& member = *value.get_object().begin();
    name = member.key();
    if (!member.value().is_string() || (member.value() != "asc" && member.value() != "desc")) {
      return bad("invalid_sort_dir", "Invalid sort direction: " + serialize_json(member.value()));
    }
    descending = member.value() == "desc";
  } else {
    return bad("invalid_sort_field", "Invalid sort field: " + serialize_json(value));
  }
  if (name.empty()) return bad("invalid_sort_field", "Invalid sort field: \"\"");
  auto path = FieldPath::parse(name);
  if (!path) return bad("invalid_sort_field", "Invalid sort field: " + serialize_json(json::value(name)));
  return OrderedField{*std::move(path), descending};
}

// Parses the fields of a view's map: an object with one member per field.
Expected<std::vector<OrderedField>> fields_from_map(const json::value& value) {
  if (value.is_array()) return parse_ordered_fields(value);
  if (!value.is_object()) return bad("invalid_sort_json", "Sort must be an array of sort specs");
  std::vector<OrderedField> fields;
  for (const auto& member : value.get_object()) {
    OCTAVO_TRY(auto field, ordered_field(json::object{{member.key(), member.value()}}));
    fields.push_back(std::move(field));
  }
  return fields;
}

std::string identity_of(const IndexDefinition& definition) {
  std::string text(entry_format);
  text += '\n';
  text += collation_version();
  text += definition.partitioned ? "\nlocal\n" : "\nglobal\n";
  text += serialize_json(definition.def_to_json());
  return crypto::hex_identity(text);
}

bool design_option_partitioned(const json::object& design, bool fallback) {
  const auto* options = design.if_contains("options");
  if (!options || !options->is_object()) return fallback;
  const auto* partitioned = options->get_object().if_contains("partitioned");
  return partitioned && partitioned->is_bool() ? partitioned->get_bool() : fallback;
}

Expected<IndexDefinition> definition_from_view(const json::value& view) {
  if (!view.is_object()) return bad("invalid_index", "A view must be an object.");
  const auto* map = view.get_object().if_contains("map");
  return index_from_map(map ? *map : json::value());
}

}  // namespace

Expected<IndexDefinition> index_from_map(const json::value& map) {
  if (!map.is_object()) return bad("invalid_index", "JSON indexes must be an object.");
  const auto* fields = map.get_object().if_contains("fields");
  if (!fields) return bad("missing_required_key", "Missing required key: fields");
  IndexDefinition definition;
  OCTAVO_TRY(definition.fields, fields_from_map(*fields));
  if (definition.fields.empty() || definition.fields.size() > index_fields_max) {
    return bad("invalid_index", "An index has between 1 and 64 fields.");
  }
  const auto* filter = map.get_object().if_contains("partial_filter_selector");
  if (!filter) filter = map.get_object().if_contains("selector");  // its name in old CouchDB versions
  if (filter && filter->is_object() && !filter->get_object().empty()) {
    OCTAVO_TRY(definition.partial_filter, Selector::parse(*filter));
  }
  return definition;
}

Expected<json::object> parse_design_document(std::string_view body) {
  auto parsed = parse_json(body, LargeIntegers::exact);
  if (!parsed) return fail(ErrorCode::corrupted, "A design document is not JSON: " + parsed.error().reason);
  if (!parsed->is_object()) return fail(ErrorCode::corrupted, "A design document is not a JSON object.");
  return std::move(parsed->get_object());
}

Expected<std::vector<OrderedField>> parse_ordered_fields(const json::value& value) {
  if (!value.is_array()) {
    return bad("invalid_sort_json", "Sort must be an array of sort specs, not: " + serialize_json(value));
  }
  if (value.get_array().size() > index_fields_max) {
    return bad("invalid_sort_json", fmt::format("At most {} fields can be sorted by.", index_fields_max));
  }
  std::vector<OrderedField> fields;
  fields.reserve(value.get_array().size());
  for (const auto& element : value.get_array()) {
    OCTAVO_TRY(auto field, ordered_field(element));
    fields.push_back(std::move(field));
  }
  return fields;
}

json::array ordered_fields_to_json(const std::vector<OrderedField>& fields) {
  json::array array;
  for (const auto& field : fields) {
    array.push_back(json::object{{field.path.text(), field.descending ? "desc" : "asc"}});
  }
  return array;
}

json::object IndexDefinition::def_to_json() const {
  json::object def{{"fields", ordered_fields_to_json(fields)}};
  if (partial_filter) def["partial_filter_selector"] = partial_filter->to_json();
  if (automatic && !automatic_path) def["automatic"] = automatic->to_json();
  return def;
}

json::object IndexDefinition::to_json() const {
  if (automatic) return {{"ddoc", nullptr}, {"name", name}, {"type", "automatic"}, {"def", def_to_json()}};
  return json::object{{"ddoc", design_document},
                      {"name", name},
                      {"type", "json"},
                      {"partitioned", partitioned},
                      {"def", def_to_json()}};
}

json::object primary_index_to_json() {
  return json::object{{"ddoc", nullptr},
                      {"name", "_all_docs"},
                      {"type", "special"},
                      {"def", json::object{{"fields", json::array{json::object{{"_id", "asc"}}}}}}};
}

Expected<std::vector<IndexDefinitionPtr>> definitions_from_design_document(std::string_view id, std::string_view body,
                                                                           bool database_is_partitioned) {
  OCTAVO_TRY(const json::object design, parse_design_document(body));
  std::vector<IndexDefinitionPtr> definitions;
  const auto* language = design.if_contains("language");
  if (!language || *language != "query") return definitions;
  const auto* views = design.if_contains("views");
  if (!views || !views->is_object()) return definitions;
  // A local index needs partitions, even if a replicated document says otherwise.
  const bool partitioned = database_is_partitioned && design_option_partitioned(design, database_is_partitioned);
  for (const auto& view : views->get_object()) {
    auto definition = definition_from_view(view.value());
    if (!definition) continue;
    definition->design_document = id;
    definition->name = view.key();
    definition->partitioned = partitioned;
    definition->identity = identity_of(*definition);
    definitions.push_back(std::make_shared<const IndexDefinition>(*std::move(definition)));
  }
  std::ranges::sort(definitions, {}, [](const IndexDefinitionPtr& definition) { return definition->name; });
  return definitions;
}

}  // namespace octavo::query

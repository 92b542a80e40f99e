#include "query/index/index_definition.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/encoding.h"
#include "query/collation/collation.h"
#include "query/index/automatic/automatic_index.h"
#include "query/index/text_index.h"
#include "query/json/parsed_document.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

// Part of every identity: raise it when the entry format (index_entry.h) changes, so that all indexes are built again.
constexpr std::string_view kEntryFormat = "octavo-index-2";

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
  std::string text(kEntryFormat);
  text += '\n';
  text += collation_version();
  text += definition.partitioned ? "\nlocal\n" : "\nglobal\n";
  text += serialize_json(definition.def_to_json());
  return crypto::hex_encode(crypto::hash(crypto::Digest::sha256, text).substr(0, 16));
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
  if (!map || !map->is_object()) return bad("invalid_index", "JSON indexes must be an object.");
  const auto* fields = map->get_object().if_contains("fields");
  if (!fields) return bad("missing_required_key", "Missing required key: fields");
  IndexDefinition definition;
  OCTAVO_TRY(definition.fields, fields_from_map(*fields));
  if (definition.fields.empty() || definition.fields.size() > index_fields_max) {
    return bad("invalid_index", "An index has between 1 and 64 fields.");
  }
  const auto* filter = map->get_object().if_contains("partial_filter_selector");
  if (!filter) filter = map->get_object().if_contains("selector");  // its name in old CouchDB versions
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

Expected<std::string> checked_name(const json::value& value) {
  if (!is_text(value)) return bad("invalid_string", "Invalid string: " + serialize_json(value));
  if (value.get_string().empty()) return bad("invalid_index_name", "Invalid index name: \"\"");
  return std::string(value.get_string());
}

}  // namespace

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

Expected<CreateIndexRequest> parse_create_index(const json::value& body) {
  if (!body.is_object()) return bad("bad_request", "Request body must be a JSON object");
  const auto& members = body.get_object();
  CreateIndexRequest request;
  const auto* index = members.if_contains("index");
  if (!index) return bad("missing_required_key", "Missing required key: index");

  if (const auto* type = members.if_contains("type")) {
    if (!is_text(*type)) return bad("invalid_string", "Invalid string: " + serialize_json(*type));
    if (*type == "nouveau") {
      return fail(ErrorCode::unsupported, "Indexes of type nouveau are not available: use type text.",
                  "index_not_implemented");
    }
    request.is_text = *type == "text";
    if (*type != "json" && *type != "text") {
      return bad("invalid_index", "Invalid type for index: " + std::string(type->get_string()));
    }
  }
  if (const auto* w = members.if_contains("w")) {
    if (!w->is_number() || w->is_double() || (w->is_int64() && w->get_int64() < 1)) {
      return bad("invalid_pos_integer", serialize_json(*w) + " is not an integer greater than zero");
    }
    request.w = w->to_number<std::uint64_t>();
  }
  if (const auto* partitioned = members.if_contains("partitioned")) {
    if (!partitioned->is_bool()) {
      return bad("invalid_partitioned_value", "Invalid value for partitioned: " + serialize_json(*partitioned));
    }
    request.partitioned = partitioned->get_bool();
  }
  if (const auto* name = members.if_contains("name")) {
    OCTAVO_TRY(request.name, checked_name(*name));
  }
  if (const auto* design = members.if_contains("ddoc")) {
    OCTAVO_TRY(request.design_document, checked_name(*design));
    if (request.design_document == "_design/") return bad("invalid_index_name", "Invalid index name: \"_design/\"");
  }
  for (const auto& member : members) {
    constexpr std::array<std::string_view, 6> known{"index", "type", "name", "ddoc", "w", "partitioned"};
    if (std::ranges::find(known, std::string_view(member.key())) == known.end()) {
      return bad("invalid_key", fmt::format("Invalid key {} for this request.", std::string_view(member.key())));
    }
  }

  if (!index->is_object()) {
    return bad("invalid_index", "JSON indexes must be an object, not: " + serialize_json(*index));
  }
  const auto name_it = [&] {
    const std::string hash = crypto::hex_encode(crypto::hash(crypto::Digest::sha1, serialize_json(body)));
    if (request.name.empty()) request.name = hash;
    if (request.design_document.empty()) request.design_document = hash;
    if (!request.design_document.starts_with("_design/")) request.design_document.insert(0, "_design/");
  };
  if (request.is_text) {
    OCTAVO_TRY(request.index, search::check_text_index(index->get_object()));
    name_it();
    return request;
  }
  request.index = index->get_object();
  const auto* fields = request.index.if_contains("fields");
  if (!fields) return bad("missing_required_key", "Missing required key: fields");
  OCTAVO_TRY(request.fields, parse_ordered_fields(*fields));
  if (request.fields.empty()) return bad("invalid_index", "An index needs at least one field.");
  for (std::size_t i = 0; i < request.fields.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (request.fields[i].path == request.fields[k].path) {
        return bad("invalid_index", "An index names a field only once: " + request.fields[i].path.text());
      }
    }
  }
  if (const auto* filter = request.index.if_contains("partial_filter_selector")) {
    if (!filter->is_object()) {
      return bad("invalid_selector_json", "Selector must be a JSON object, not: " + serialize_json(*filter));
    }
    auto selector = Selector::parse(*filter);
    if (!selector) {
      Error error = std::move(selector).error();
      error.word = mango_error_name(error);
      return std::unexpected(std::move(error));
    }
    if (!filter->get_object().empty()) request.partial_filter = selector->to_json().as_object();
  }
  for (const auto& member : request.index) {
    if (member.key() != "fields" && member.key() != "partial_filter_selector") {
      return bad("invalid_key", fmt::format("Invalid key {} for this request.", std::string_view(member.key())));
    }
  }

  name_it();
  return request;
}

Expected<std::optional<std::string>> add_index_to_design_document(const CreateIndexRequest& request,
                                                                  std::optional<std::string_view> existing,
                                                                  bool database_is_partitioned) {
  if (request.partitioned.value_or(false) && !database_is_partitioned) {
    return bad("bad_request", "partitioned option cannot be true in a non-partitioned database.");
  }
  json::object design{{"language", "query"}};
  if (existing) {
    OCTAVO_TRY(design, parse_design_document(*existing));
    const auto* language = design.if_contains("language");
    if (!language || *language != "query") {
      return bad("invalid_ddoc_lang", "Existing design doc has an invalid language: " +
                                          (language ? serialize_json(*language) : std::string("\"javascript\"")));
    }
    const auto* options = design.if_contains("options");
    const auto* stored = options && options->is_object() ? options->get_object().if_contains("partitioned") : nullptr;
    const std::optional<bool> old = stored && stored->is_bool() ? std::optional(stored->get_bool()) : std::nullopt;
    if (old != request.partitioned) {
      return bad(
          "invalid_partitioned_option",
          "Requested partitioned option does not match existing value on design document " + request.design_document);
    }
  } else if (request.partitioned) {
    design["options"] = json::object{{"partitioned", *request.partitioned}};
  }

  const auto put = [&](std::string_view place, json::value value) -> std::optional<std::string> {
    auto& members = design[place];
    if (!members.is_object()) members = json::object{};
    auto& slot = members.get_object()[request.name];
    if (slot == value) return std::nullopt;
    slot = std::move(value);
    return serialize_json(design);
  };
  if (request.is_text) return put("indexes", search::stored_text_index(request.index));

  json::object fields;
  for (const auto& field : request.fields) fields[field.path.text()] = field.descending ? "desc" : "asc";
  json::object map{{"fields", std::move(fields)}};
  map["partial_filter_selector"] = request.partial_filter;
  return put("views", {{"map", std::move(map)}, {"reduce", "_count"}, {"options", {{"def", request.index}}}});
}

Expected<std::string> remove_index_from_design_document(std::string_view body, std::optional<std::string_view> name,
                                                        IndexType type) {
  OCTAVO_TRY(json::object design, parse_design_document(body));
  bool removed = false;
  for (const std::string_view place : {"views", "indexes"}) {
    if (type == IndexType::json ? place == "indexes" : type == IndexType::text && place == "views") continue;
    auto* members = design.if_contains(place);
    if (!members || !members->is_object()) continue;
    auto& indexes = members->get_object();
    if (name) {
      const auto index = indexes.find(*name);
      if (index == indexes.end()) continue;
      indexes.stable_erase(index);  // the remaining ones keep their order
    } else {
      indexes.clear();
    }
    removed = true;
    if (indexes.empty()) design.stable_erase(place);
  }
  if (!removed) return fail(ErrorCode::not_found, "missing");
  // The partitioned option belongs to the indexes, so without indexes it has no meaning.
  const bool bare = std::ranges::all_of(design, [](const json::key_value_pair& member) {
    return member.key() == "language" || member.key() == "options";
  });
  return bare ? std::string() : serialize_json(design);
}

}  // namespace octavo::query

#include "query/database/create_index.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/digest.h"
#include "base/encoding.h"
#include "query/json/parsed_document.h"
#include "query/search/text_index.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

std::unexpected<Error> rejected(std::string_view word, std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), word);
}

Expected<std::string> checked_name(const json::value& value) {
  if (!is_text(value)) return rejected("invalid_string", "Invalid string: " + serialize_json(value));
  if (value.get_string().empty()) return rejected("invalid_index_name", "Invalid index name: \"\"");
  return std::string(value.get_string());
}

}  // namespace

Expected<CreateIndexRequest> parse_create_index(const json::value& body) {
  if (!body.is_object()) return rejected("bad_request", "Request body must be a JSON object");
  const auto& members = body.get_object();
  CreateIndexRequest request;
  const auto* index = members.if_contains("index");
  if (!index) return rejected("missing_required_key", "Missing required key: index");

  if (const auto* type = members.if_contains("type")) {
    if (!is_text(*type)) return rejected("invalid_string", "Invalid string: " + serialize_json(*type));
    if (*type == "nouveau") {
      return fail(ErrorCode::unsupported, "Indexes of type nouveau are not available: use type text.",
                  "index_not_implemented");
    }
    request.is_text = *type == "text";
    if (*type != "json" && *type != "text") {
      return rejected("invalid_index", "Invalid type for index: " + std::string(type->get_string()));
    }
  }
  if (const auto* w = members.if_contains("w")) {
    if (!w->is_number() || w->is_double() || (w->is_int64() && w->get_int64() < 1)) {
      return rejected("invalid_pos_integer", serialize_json(*w) + " is not an integer greater than zero");
    }
    request.w = w->to_number<std::uint64_t>();
  }
  if (const auto* partitioned = members.if_contains("partitioned")) {
    if (!partitioned->is_bool()) {
      return rejected("invalid_partitioned_value", "Invalid value for partitioned: " + serialize_json(*partitioned));
    }
    request.partitioned = partitioned->get_bool();
  }
  if (const auto* name = members.if_contains("name")) {
    OCTAVO_TRY(request.name, checked_name(*name));
  }
  if (const auto* design = members.if_contains("ddoc")) {
    OCTAVO_TRY(request.design_document, checked_name(*design));
    if (request.design_document == "_design/")
      return rejected("invalid_index_name", "Invalid index name: \"_design/\"");
  }
  for (const auto& member : members) {
    constexpr std::array<std::string_view, 6> known{"index", "type", "name", "ddoc", "w", "partitioned"};
    if (std::ranges::find(known, std::string_view(member.key())) == known.end()) {
      return rejected("invalid_key", fmt::format("Invalid key {} for this request.", std::string_view(member.key())));
    }
  }

  if (!index->is_object()) {
    return rejected("invalid_index", "JSON indexes must be an object, not: " + serialize_json(*index));
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
  if (!fields) return rejected("missing_required_key", "Missing required key: fields");
  OCTAVO_TRY(request.fields, parse_ordered_fields(*fields));
  if (request.fields.empty()) return rejected("invalid_index", "An index needs at least one field.");
  for (std::size_t i = 0; i < request.fields.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (request.fields[i].path == request.fields[k].path) {
        return rejected("invalid_index", "An index names a field only once: " + request.fields[i].path.text());
      }
    }
  }
  if (const auto* filter = request.index.if_contains("partial_filter_selector")) {
    if (!filter->is_object()) {
      return rejected("invalid_selector_json", "Selector must be a JSON object, not: " + serialize_json(*filter));
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
      return rejected("invalid_key", fmt::format("Invalid key {} for this request.", std::string_view(member.key())));
    }
  }

  name_it();
  return request;
}

Expected<std::optional<std::string>> add_index_to_design_document(const CreateIndexRequest& request,
                                                                  std::optional<std::string_view> existing,
                                                                  bool database_is_partitioned) {
  if (request.partitioned.value_or(false) && !database_is_partitioned) {
    return rejected("bad_request", "partitioned option cannot be true in a non-partitioned database.");
  }
  json::object design{{"language", "query"}};
  if (existing) {
    OCTAVO_TRY(design, parse_design_document(*existing));
    const auto* language = design.if_contains("language");
    if (!language || *language != "query") {
      return rejected("invalid_ddoc_lang", "Existing design doc has an invalid language: " +
                                               (language ? serialize_json(*language) : std::string("\"javascript\"")));
    }
    const auto* options = design.if_contains("options");
    const auto* stored = options && options->is_object() ? options->get_object().if_contains("partitioned") : nullptr;
    const std::optional<bool> old = stored && stored->is_bool() ? std::optional(stored->get_bool()) : std::nullopt;
    if (old != request.partitioned) {
      return rejected(
          "invalid_partitioned_option",
          "Requested partitioned option does not match existing value on design document " + request.design_document);
    }
  } else if (request.partitioned) {
    design["options"] = json::object{{"partitioned", *request.partitioned}};
  }

  const auto put = [&](std::string_view member, json::value value) -> std::optional<std::string> {
    auto& members = design[member];
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
  for (const std::string_view member : {"views", "indexes"}) {
    if (type == IndexType::json ? member == "indexes" : type == IndexType::text && member == "views") continue;
    auto* members = design.if_contains(member);
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
    if (indexes.empty()) design.stable_erase(member);
  }
  if (!removed) return fail(ErrorCode::not_found, "missing");
  // The partitioned option belongs to the indexes, so without indexes it has no meaning.
  const bool bare = std::ranges::all_of(design, [](const json::key_value_pair& member) {
    return member.key() == "language" || member.key() == "options";
  });
  return bare ? std::string() : serialize_json(design);
}

}  // namespace octavo::query

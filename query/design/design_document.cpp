#include "query/design/design_document.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include "base/json_writer.h"
#include "query/json/split.h"

namespace octavo::query {

namespace {

enum class JsonType : std::uint8_t { string, array, object, other };

JsonType type_of(std::string_view raw) {
  if (raw.starts_with('"')) return JsonType::string;
  if (raw.starts_with('[')) return JsonType::array;
  if (raw.starts_with('{')) return JsonType::object;
  return JsonType::other;
}

// The types that CouchDB accepts for a field, and their names in its error message.
struct FieldType {
  std::span<const JsonType> types;
  std::string_view words;
};
constexpr std::array string_types{JsonType::string};
constexpr std::array object_types{JsonType::object};
constexpr std::array string_or_object_types{JsonType::object, JsonType::string};
constexpr std::array string_or_array_types{JsonType::string, JsonType::array};
constexpr FieldType string_field{string_types, "string"};
constexpr FieldType object_field{object_types, "object"};
constexpr FieldType string_or_object_field{string_or_object_types, "object or string"};
constexpr FieldType string_or_array_field{string_or_array_types, "string or array"};

std::unexpected<Error> invalid_design(std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), "invalid_design_doc");
}

Expected<void> check_type(std::string_view path, std::string_view raw, const FieldType& type) {
  if (raw.empty() || std::ranges::find(type.types, type_of(raw)) != type.types.end()) return {};
  return invalid_design("`" + std::string(path) + "` field must have " + std::string(type.words) + " type");
}

using MemberList = std::vector<JsonMember>;

std::string join(std::string_view path, std::string_view name) {
  return std::string(path) + "." + std::string(name);
}

// The members of the object `name`; none if it is absent.
Expected<MemberList> read_object(const MemberList& document, std::string_view name) {
  const auto raw = member_value(document, name);
  if (raw.empty()) return MemberList{};
  OCTAVO_TRY_VOID(check_type(name, raw, object_field));
  return split_object(raw);
}

Expected<void> check_values(const MemberList& members, std::string_view path, const FieldType& type) {
  for (const auto& member : members) OCTAVO_TRY_VOID(check_type(join(path, member.name), member.raw, type));
  return {};
}

Expected<std::vector<NamedFunction>> read_functions(const MemberList& document, std::string_view name) {
  OCTAVO_TRY(const MemberList members, read_object(document, name));
  OCTAVO_TRY_VOID(check_values(members, name, string_or_object_field));
  std::vector<NamedFunction> functions;
  for (const auto& member : members) {
    if (type_of(member.raw) != JsonType::string) continue;
    OCTAVO_TRY(auto source, decode_json_string(member.raw));
    functions.push_back({member.name, std::move(source)});
  }
  return functions;
}

Expected<void> read_views(const MemberList& document, const FieldType& map_type, DesignDocument& design) {
  OCTAVO_TRY(const MemberList views, read_object(document, "views"));
  if (views.size() > design_views_max) {
    return invalid_design("A design document can have at most " + std::to_string(design_views_max) + " views");
  }
  for (const auto& member : views) {
    const auto path = join("views", member.name);
    OCTAVO_TRY_VOID(check_type(path, member.raw, object_field));
    if (member.name == "lib") {
      design.view_modules = R"({"views":{"lib":)";
      design.view_modules.append(member.raw).append("}}");
      continue;
    }
    OCTAVO_TRY(const MemberList parts, split_object(member.raw));
    const auto map = member_value(parts, "map");
    const auto reduce = member_value(parts, "reduce");
    OCTAVO_TRY_VOID(check_type(join(path, "map"), map, map_type));
    OCTAVO_TRY_VOID(check_type(join(path, "reduce"), reduce, string_field));
    if (map.empty()) return invalid_design("View `" + member.name + "` must contain map function");
    if (type_of(map) != JsonType::string) continue;
    ViewSource view{.name = member.name, .map = {}, .reduce = {}};
    OCTAVO_TRY(view.map, decode_json_string(map));
    if (!reduce.empty()) {
      OCTAVO_TRY(view.reduce, decode_json_string(reduce));
    }
    design.views.push_back(std::move(view));
  }
  return {};
}

Expected<void> read_indexes(const MemberList& document, DesignDocument& design) {
  OCTAVO_TRY(const MemberList indexes, read_object(document, "indexes"));
  for (const auto& member : indexes) {
    const auto path = join("indexes", member.name);
    OCTAVO_TRY_VOID(check_type(path, member.raw, object_field));
    OCTAVO_TRY(const MemberList parts, split_object(member.raw));
    const auto index = member_value(parts, "index");
    if (index.empty()) return invalid_design("Index `" + member.name + "` must contain index function");
    OCTAVO_TRY_VOID(check_type(join(path, "index"), index, string_field));
    SearchSource source{.name = member.name, .index = {}, .analyzer = {}};
    OCTAVO_TRY(source.index, decode_json_string(index));
    const auto analyzer = member_value(parts, "analyzer");
    OCTAVO_TRY_VOID(check_type(join(path, "analyzer"), analyzer, string_or_object_field));
    source.analyzer = analyzer;
    design.indexes.push_back(std::move(source));
  }
  return {};
}

Expected<DesignOptions> read_design_options(const MemberList& document) {
  OCTAVO_TRY(const MemberList members, read_object(document, "options"));
  const auto read_bool = [&](std::string_view name) -> Expected<std::optional<bool>> {
    const auto raw = member_value(members, name);
    if (raw.empty()) return std::nullopt;
    if (raw == "true" || raw == "false") return raw == "true";
    return invalid_design("`" + join("options", name) + "` field must have boolean type");
  };
  DesignOptions options;
  OCTAVO_TRY(options.partitioned, read_bool("partitioned"));
  OCTAVO_TRY(const auto include_design, read_bool("include_design"));
  OCTAVO_TRY(const auto local_sequence, read_bool("local_seq"));
  options.include_design = include_design.value_or(false);
  options.local_sequence = local_sequence.value_or(false);
  options.raw_collation = member_value(members, "collation") == "\"raw\"";
  return options;
}

std::string with_id_and_revision(std::string_view id, std::string_view revision, std::string_view body) {
  std::string whole = "{\"_id\":";
  append_json_string(whole, id);
  whole += ",\"_rev\":";
  append_json_string(whole, revision);
  const auto rest = body.find_first_not_of(" \t\r\n", body.find('{') + 1);
  if (rest != std::string_view::npos && body[rest] != '}') whole += ',';
  whole += body.substr(body.find('{') + 1);
  return whole;
}

template <class Items>
auto find_named(const Items& items, std::string_view name) -> decltype(items.data()) {
  const auto found = std::ranges::find(items, name, [](const auto& item) { return std::string_view(item.name); });
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

const ViewSource* DesignDocument::view(std::string_view name) const {
  return find_named(views, name);
}

const SearchSource* DesignDocument::index(std::string_view name) const {
  return find_named(indexes, name);
}

const NamedFunction* DesignDocument::filter(std::string_view name) const {
  return find_named(filters, name);
}

const NamedFunction* DesignDocument::update(std::string_view name) const {
  return find_named(updates, name);
}

Expected<DesignDocumentPtr> read_design_document(std::string_view id, std::string_view revision,
                                                 std::string_view body) {
  OCTAVO_TRY(const MemberList document, split_object(body));
  auto design = std::make_shared<DesignDocument>();
  OCTAVO_TRY(design->filters, read_functions(document, "filters"));
  const auto language = member_value(document, "language");
  OCTAVO_TRY_VOID(check_type("language", language, string_field));
  for (const auto* name : {"lists", "shows"}) {
    OCTAVO_TRY(const auto unused, read_functions(document, name));
  }
  OCTAVO_TRY(design->options, read_design_options(document));
  OCTAVO_TRY_VOID(check_type("rewrites", member_value(document, "rewrites"), string_or_array_field));
  OCTAVO_TRY(design->updates, read_functions(document, "updates"));
  const auto validate = member_value(document, "validate_doc_update");
  OCTAVO_TRY_VOID(check_type("validate_doc_update", validate, string_field));
  OCTAVO_TRY_VOID(read_views(document, language == "\"query\"" ? object_field : string_field, *design));
  if (!language.empty() && language != "\"javascript\"") return nullptr;
  OCTAVO_TRY_VOID(read_indexes(document, *design));
  if (!validate.empty()) {
    OCTAVO_TRY(design->validate_doc_update, decode_json_string(validate));
  }
  design->id = id;
  design->revision = revision;
  design->body = with_id_and_revision(id, revision, body);
  return design;
}

}  // namespace octavo::query

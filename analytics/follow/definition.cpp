#include "analytics/follow/definition.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "analytics/table/array_path.h"
#include "analytics/table/document_table.h"
#include "analytics/table/type_inference.h"
#include "base/ascii_case.h"
#include "base/digest.h"
#include "query/follow/open_sources.h"
#include "query/json/parsed_document.h"

namespace octavo::analytics {

namespace {

namespace json = boost::json;
using storage::Catalog;

constexpr std::string_view syntax_word = "analytics_syntax";
constexpr std::string_view fact_name = "analytics";
constexpr std::size_t id_bytes = 16;
constexpr std::size_t path_bytes_shown = 64;
constexpr std::string_view databases_area = "analytics";

// Names of databases and schemas that there are already: with a second one, names in statements would be ambiguous.
constexpr std::array<std::string_view, 7> reserved_names{
    "main", "memory", "system", "temp", "octavo", "information_schema", "pg_catalog"};

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

// nullopt: no path of a property of the top level.
std::optional<std::string> property_of_path(std::string_view path) {
  const std::string_view name = path.empty() ? path : path.substr(1);
  if (!path.starts_with('/') || name.empty() || name.starts_with('_') || name.contains('/') ||
      name.size() > TypeInference::name_bytes_max) {
    return std::nullopt;
  }
  return std::string(name);
}

bool is_table_name(std::string_view name) {
  const auto is_letter = [](char c) { return to_lower(c) >= 'a' && to_lower(c) <= 'z'; };
  const auto is_allowed = [&](char c) { return is_letter(c) || c == '_' || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= Definition::table_name_bytes_max && is_letter(name.front()) &&
         std::ranges::all_of(name, is_allowed) && !equals_ignoring_case(name, documents_name);
}

Expected<json::object> read_flatten(const json::value& value) {
  const auto refused = [](std::string_view reason) {
    return fail(
        ErrorCode::bad_request,
        fmt::format("`flatten` must have paths of arrays and a table for each, such as {{\"/orders\":\"orders\", "
                    "\"/orders/[]/items\":\"items\"}}: {}.",
                    reason),
        syntax_word);
  };
  if (!value.is_object() || value.get_object().empty() || value.get_object().size() > Definition::flatten_max) {
    return refused(fmt::format("it must be an object with 1 to {} members", Definition::flatten_max));
  }
  json::object flatten;
  std::vector<std::string> tables;
  for (const auto& [path, table] : value.get_object()) {
    const auto parsed = ArrayPath::parse(path);
    const std::string_view shown = std::string_view(path).substr(0, path_bytes_shown);
    if (!parsed) {
      return refused(
          fmt::format("`{}` is no path of 1 to {} names, with `[]` behind the name of an array for its elements", shown,
                      ArrayPath::names_max));
    }
    if (const auto parent = parsed->parent(); !parent.empty() && !value.get_object().contains(parent)) {
      return refused(fmt::format("`{}` needs a table for `{}`, too", shown, parent.substr(0, path_bytes_shown)));
    }
    const std::string_view name = table.is_string() ? std::string_view(table.get_string()) : std::string_view();
    if (!is_table_name(name)) {
      return refused(
          fmt::format("the name of a table has letters, digits and `_`, begins with a letter, has at most {} "
                      "characters and is not `documents`",
                      Definition::table_name_bytes_max));
    }
    tables.push_back(lower_case(name));
    if (std::ranges::count(tables, tables.back()) > 1) return refused("two tables have the same name");
    flatten[path] = table;
  }
  return flatten;
}

Expected<std::int64_t> read_ttl(const json::value& value) {
  constexpr std::int64_t seconds_max = std::numeric_limits<std::int32_t>::max();  // as in Azure Cosmos DB
  if (!value.is_int64() || value.get_int64() < Definition::forever || value.get_int64() > seconds_max) {
    return fail(
        ErrorCode::bad_request,
        fmt::format("`ttl` must be the seconds that rows stay after the last write of their document (at most {}), -1 "
                    "for ever, or 0: as long as their document.",
                    seconds_max),
        syntax_word);
  }
  return value.get_int64();
}

Expected<std::string> read_name(std::string_view member, const json::value& value, std::size_t bytes_max) {
  const std::string_view name = value.is_string() ? std::string_view(value.get_string()) : std::string_view();
  if (name.empty() || name.size() > bytes_max || std::ranges::any_of(name, is_control)) {
    return fail(ErrorCode::bad_request,
                fmt::format("`{}` must be a name of 1 to {} bytes without control characters.", member, bytes_max),
                syntax_word);
  }
  return std::string(name);
}

Expected<void> check_reserved(std::string_view as) {
  for (const std::string_view reserved : reserved_names) {
    if (!equals_ignoring_case(as, reserved)) continue;
    return fail(ErrorCode::bad_request, fmt::format("`as` cannot be `{}`, which has a meaning in DuckDB.", as),
                syntax_word);
  }
  return {};
}

}  // namespace

std::string Definition::new_id() {
  return crypto::hex_identity(crypto::random_bytes(id_bytes));
}

Expected<Definition> Definition::parse(const json::object& object) {
  Definition definition;
  std::string_view mode = well_defined;
  for (const auto& [name, value] : object) {
    if (name == "mode") {
      mode = value.is_string() ? std::string_view(value.get_string()) : std::string_view();
    } else if (name == "include") {
      if (!value.is_array() || value.get_array().empty() || value.get_array().size() > include_max) {
        return fail(ErrorCode::bad_request,
                    fmt::format("`include` must be a list of 1 to {} properties, such as [\"/orderId\"].", include_max),
                    syntax_word);
      }
      for (const auto& path : value.get_array()) {
        auto property = path.is_string() ? property_of_path(path.get_string()) : std::nullopt;
        if (!property) {
          return fail(ErrorCode::bad_request,
                      "`include` must be a list of properties of the top level, such as [\"/orderId\", \"/city\"].",
                      syntax_word);
        }
        definition.include.push_back(*std::move(property));
      }
    } else if (name == "flatten") {
      OCTAVO_TRY(definition.flatten, read_flatten(value));
    } else if (name == "ttl") {
      OCTAVO_TRY(definition.ttl_s, read_ttl(value));
    } else if (name == "group") {
      OCTAVO_TRY(definition.group, read_name(name, value, Definition::group_bytes_max));
    } else if (name == "as") {
      OCTAVO_TRY(definition.as, read_name(name, value, Definition::as_bytes_max));
      OCTAVO_TRY_VOID(check_reserved(definition.as));
    } else {
      return fail(ErrorCode::bad_request,
                  fmt::format("Unknown member `{}`; the known ones are mode, include, flatten, ttl, group and as.",
                              std::string_view(name).substr(0, 64)),
                  syntax_word);
    }
  }
  if (mode != well_defined && mode != full_fidelity) {
    return fail(ErrorCode::bad_request, "`mode` must be `well_defined` or `full_fidelity`.", syntax_word);
  }
  if (definition.group.empty() != definition.as.empty()) {
    return fail(ErrorCode::bad_request,
                "`group` and `as` belong together, such as {\"group\":\"shop\",\"as\":\"orders\"}.", syntax_word);
  }
  definition.id = new_id();
  definition.json = object;
  definition.json["mode"] = mode;
  if (definition.ttl_s == 0) definition.json.erase("ttl");
  return definition;
}

Expected<Definition> Definition::of_container(std::string_view database_name, std::int64_t seconds) {
  const auto slash = database_name.find('/');
  std::string name(database_name.substr(slash + 1));
  if (!check_reserved(name)) name += '_';
  OCTAVO_TRY(Definition definition,
             parse({{"ttl", seconds}, {"group", database_name.substr(0, slash)}, {"as", std::move(name)}}));
  definition.by_container = true;
  return definition;
}

Expected<Definition> Definition::with_ttl(std::int64_t seconds) const {
  json::object wanted = json;
  wanted["ttl"] = seconds;
  return changed_to(wanted);
}

Expected<Definition> Definition::with_name(std::string_view name) const {
  json::object wanted = json;
  wanted["as"] = name;
  return changed_to(wanted);
}

Expected<Definition> Definition::changed_to(const json::object& wanted) const {
  OCTAVO_TRY(Definition definition, parse(wanted));
  definition.by_container = by_container;
  definition.group_name = group_name;
  return definition;
}

std::vector<std::string> Definition::tables() const {
  std::vector<std::string> names{std::string(documents_name)};
  for (const auto& [path, table] : flatten) names.emplace_back(table.get_string());
  return names;
}

void Definition::enter_group(std::string_view name, std::string_view key) {
  group_name = name;
  group = key;
  json["group"] = key;
}

bool Definition::differs_in_ttl_only(const Definition& other) const {
  json::object one = json;
  json::object another = other.json;
  one.erase("ttl");
  another.erase("ttl");
  return one == another && ttl_s != other.ttl_s;
}

bool Definition::lacks_rows_of(const Definition& other) const {
  return ttl_s > 0 && (other.ttl_s <= 0 || other.ttl_s > ttl_s);
}

namespace {

std::uint64_t stored_number(const json::object& stored, std::string_view name) {
  const auto* const number = stored.if_contains(name);
  return number != nullptr && number->is_number() ? number->to_number<std::uint64_t>() : 0;
}

std::unexpected<Error> damaged() {
  return fail(ErrorCode::corrupted, "What is stored of the analytical store is damaged.");
}

Expected<Definition> read_stored(const json::object& stored) {
  const auto* const defined = stored.if_contains("definition");
  if (defined == nullptr || !defined->is_object()) return damaged();
  OCTAVO_TRY(auto definition, Definition::parse(defined->get_object()));
  definition.build = stored_number(stored, "build");
  definition.rereads = stored_number(stored, "rereads");
  return definition;
}

json::object stored_form(const Definition& definition) {
  return {{"build", definition.build}, {"rereads", definition.rereads}, {"definition", definition.json}};
}

}  // namespace

Expected<std::optional<StoreDefinitions>> definitions_of(Catalog& catalog, std::string_view tag) {
  OCTAVO_TRY(const auto text, catalog.fact(Catalog::area_of_database(tag), fact_name));
  if (!text) return std::nullopt;
  const auto parsed = query::parse_json(*text);
  if (!parsed || !parsed->is_object()) return damaged();
  const json::object& stored = parsed->get_object();
  OCTAVO_TRY(auto answering, read_stored(stored));
  answering.id = query::text_member(stored, "id");
  if (answering.id.empty()) return damaged();
  const auto* const by_container = stored.if_contains("by_container");
  answering.by_container = by_container != nullptr && by_container->is_bool() && by_container->get_bool();
  StoreDefinitions definitions{std::move(answering), std::nullopt, stored_number(stored, "last_build")};
  if (const auto* const building = stored.if_contains("building"); building != nullptr && building->is_object()) {
    OCTAVO_TRY(definitions.building, read_stored(building->get_object()));
    definitions.building->id = definitions.answering.id;
    definitions.building->by_container = definitions.answering.by_container;
  }
  return definitions;
}

Expected<std::optional<Definition>> definition_of(Catalog& catalog, std::string_view tag) {
  OCTAVO_TRY(auto definitions, definitions_of(catalog, tag));
  if (!definitions) return std::nullopt;
  return std::move(definitions->answering);
}

std::vector<storage::FactChange> facts_of(std::string_view tag, const StoreDefinitions& definitions) {
  json::object stored = stored_form(definitions.answering);
  stored["id"] = definitions.answering.id;
  stored["by_container"] = definitions.latest().by_container;
  stored["last_build"] = definitions.last_build;
  if (definitions.building) stored["building"] = stored_form(*definitions.building);
  return {{std::string(databases_area), std::string(tag), ""},
          {Catalog::area_of_database(tag), std::string(fact_name), json::serialize(stored)}};
}

Expected<void> erase_definition(Catalog& catalog, std::string_view tag) {
  OCTAVO_TRY_VOID(catalog.erase_fact(Catalog::area_of_database(tag), fact_name));
  return catalog.erase_fact(databases_area, tag);
}

Expected<std::vector<std::string>> tags_with_store(Catalog& catalog) {
  OCTAVO_TRY(const auto facts, catalog.facts(databases_area));
  std::vector<std::string> tags;
  for (const auto& [tag, empty] : facts) tags.push_back(tag);
  return tags;
}

Expected<std::vector<std::string>> databases_with_store(Catalog& catalog) {
  return query::noted_sources(catalog, databases_area, [&](std::string_view tag) -> Expected<bool> {
    OCTAVO_TRY(const auto definition, catalog.fact(Catalog::area_of_database(tag), fact_name));
    return definition.has_value();
  });
}

}  // namespace octavo::analytics

#include "api/scripts/script_store.h"

#include <array>

#include <boost/json.hpp>

#include "api/models/container_definition.h"
#include "api/models/resource_id.h"
#include "partitioning/engine.h"
#include "query/json/parsed_document.h"

namespace octavo::api::scripts {

namespace {

namespace json = boost::json;

constexpr std::size_t stored_name_bytes_max = 440;  // bound by the catalog's keys

std::string_view segment_of(ScriptKind kind) {
  constexpr std::array<std::string_view, 3> kind_segments{"sprocs/", "triggers/", "udfs/"};
  return kind_segments[static_cast<std::size_t>(kind)];
}

std::string area_of(const partitioning::Database& database) {
  return storage::Catalog::area_of_database(database.instance_tag());
}

// Format (function stored in the catalog):
//   area "of:" instance tag, name ("sprocs/" | "triggers/" | "udfs/") id
//   → JSON {"id","body","_rid","_etag","_ts"} and, for a trigger, "triggerType","triggerOperation"
std::string encode(const Script& script) {
  json::object object{{"id", script.id},
                      {"body", script.body},
                      {"_rid", script.rid},
                      {"_etag", script.etag},
                      {"_ts", script.modified_s}};
  if (!script.trigger_type.empty()) {
    object["triggerType"] = script.trigger_type;
    object["triggerOperation"] = script.trigger_operation;
  }
  return json::serialize(object);
}

Expected<Script> decode(std::string_view text) {
  OCTAVO_TRY(const auto value, query::parse_json(text));
  const auto* object = value.if_object();
  if (object == nullptr) return fail(ErrorCode::corrupted, "A stored function in the catalog is damaged.");
  const auto string = [object](std::string_view name) { return query::text_member(*object, name); };
  Script script{.id = string("id"),
                .body = string("body"),
                .rid = string("_rid"),
                .etag = string("_etag"),
                .trigger_type = string("triggerType"),
                .trigger_operation = string("triggerOperation")};
  if (const auto* time = object->if_contains("_ts"); time != nullptr && time->is_int64()) {
    script.modified_s = time->get_int64();
  }
  return script;
}

std::string name_of(ScriptKind kind, std::string_view id) {
  return std::string(segment_of(kind)) + std::string(id);
}

}  // namespace

Expected<std::optional<Script>> ScriptStore::find(ScriptKind kind, std::string_view id) const {
  if (id.size() > stored_name_bytes_max) return std::nullopt;
  OCTAVO_TRY(const auto text, database_.engine().catalog().fact(area_of(database_), name_of(kind, id)));
  if (!text) return std::nullopt;
  OCTAVO_TRY(auto script, decode(*text));
  return script;
}

Expected<std::vector<Script>> ScriptStore::list(ScriptKind kind) const {
  OCTAVO_TRY(const auto facts, database_.engine().catalog().facts(area_of(database_)));
  std::vector<Script> scripts;
  for (const auto& [name, text] : facts) {
    if (!name.starts_with(segment_of(kind))) continue;
    OCTAVO_TRY(auto script, decode(text));
    scripts.push_back(std::move(script));
  }
  return scripts;
}

Expected<void> ScriptStore::change(ScriptKind kind, std::string_view id,
                                   FunctionRef<Expected<Script>(const std::optional<Script>& before)> change) {
  if (id.size() > stored_name_bytes_max) return fail(ErrorCode::bad_request, "The input name is too long.");
  return database_.engine().catalog().change_fact(area_of(database_), name_of(kind, id),
                                                  [&](std::optional<std::string_view> stored) -> Expected<std::string> {
                                                    // Deleting the database erased its facts: store no more.
                                                    if (database_.deleted())
                                                      return fail(ErrorCode::not_found, "Database does not exist.");
                                                    std::optional<Script> before;
                                                    if (stored) {
                                                      OCTAVO_TRY(before, decode(*stored));
                                                    }
                                                    OCTAVO_TRY(const auto after, change(before));
                                                    return encode(after);
                                                  });
}

Expected<void> ScriptStore::erase(ScriptKind kind, std::string_view id,
                                  FunctionRef<Expected<void>(const Script& before)> check) {
  if (id.size() > stored_name_bytes_max) return fail(ErrorCode::not_found, "");
  return database_.engine().catalog().erase_fact(area_of(database_), name_of(kind, id),
                                                 [&](std::optional<std::string_view> stored) -> Expected<void> {
                                                   if (!stored) return fail(ErrorCode::not_found, "");
                                                   OCTAVO_TRY(const auto before, decode(*stored));
                                                   return check(before);
                                                 });
}

Expected<void> carry_scripts(partitioning::Database& source, partitioning::Database& target) {
  const auto container = cosmos::container_of(target);
  if (!container) return {};
  const ScriptStore from(source);
  ScriptStore into(target);
  for (const auto kind : {ScriptKind::stored_procedure, ScriptKind::trigger, ScriptKind::user_function}) {
    OCTAVO_TRY(const auto found, from.list(kind));
    for (Script script : found) {
      // Its resource id begins with that of its container.
      const auto rid = cosmos::parse_rid(script.rid);
      if (rid) script.rid = cosmos::show_rid((*container)->rid + rid->substr((*container)->rid.size()));
      const auto keep = [&](const std::optional<Script>& present) -> Expected<Script> {
        return present.value_or(script);
      };
      OCTAVO_TRY_VOID(into.change(kind, script.id, keep));
    }
  }
  return {};
}

query::javascript::ProgramPtr program_of(const partitioning::Database& database, ScriptKind kind, std::string_view id,
                                         std::string source) {
  using query::javascript::Program;
  std::vector<Program::Function> functions;
  functions.push_back({.name = std::string(id), .source = std::move(source)});
  const auto world = kind == ScriptKind::user_function ? Program::Kind::plain : Program::Kind::script;
  return std::make_shared<const Program>(database.instance_tag(), std::move(functions), std::string(), world);
}

}  // namespace octavo::api::scripts

// …/colls/{coll}/sprocs, triggers and udfs: functions stored with a container.
#include <algorithm>
#include <array>

#include <boost/json.hpp>

#include "api/cosmos/call/feed_page.h"
#include "api/cosmos/functions/script_handlers.h"
#include "api/cosmos/resources/registry.h"
#include "api/cosmos/resources/resource_query.h"
#include "api/models/container_definition.h"
#include "api/models/errors.h"
#include "api/models/item_shape.h"
#include "api/models/resource_id.h"
#include "api/scripts/script_store.h"
#include "base/ascii_case.h"
#include "base/json_writer.h"
#include "base/unix_time.h"

namespace octavo::api::cosmos {

namespace {

namespace json = boost::json;
using scripts::Script;
using scripts::ScriptKind;
using scripts::ScriptStore;

constexpr std::size_t script_bytes_max = 1ULL << 20;

struct KindWords {
  Resource resource;
  ScriptKind kind;
  std::string_view feed;     ///< name of the list in replies
  std::string_view segment;  ///< in links
  unsigned rid_kind;
};
constexpr std::array script_words{
    KindWords{Resource::stored_procedure, ScriptKind::stored_procedure, "StoredProcedures", "sprocs", 8},
    KindWords{Resource::trigger, ScriptKind::trigger, "Triggers", "triggers", 7},
    KindWords{Resource::user_function, ScriptKind::user_function, "UserDefinedFunctions", "udfs", 6},
};

const KindWords& words_of(Resource resource) {
  for (const auto& words : script_words) {
    if (words.resource == resource) return words;
  }
  return script_words.front();
}

std::string shown(const Script& script, const KindWords& words, const ContainerDefinition& container) {
  std::string out = "{\"id\":";
  append_json_string(out, script.id);
  append_json_key(out, "body");
  append_json_string(out, script.body);
  if (!script.trigger_type.empty()) {
    append_json_key(out, "triggerType");
    append_json_string(out, script.trigger_type);
    append_json_key(out, "triggerOperation");
    append_json_string(out, script.trigger_operation);
  }
  append_json_key(out, "_rid");
  append_json_string(out, script.rid);
  append_json_key(out, "_self");
  append_json_string(out, container.self_link() + std::string(words.segment) + "/" + script.rid + "/");
  append_json_key(out, "_etag");
  append_json_string(out, '"' + script.etag + '"');
  append_json_key(out, "_ts");
  append_json_number(out, script.modified_s);
  out += '}';
  return out;
}

// Whether an entry of `names` equals `text` without regard to case.
template <std::size_t Count>
bool is_one_of(std::string_view text, const std::array<std::string_view, Count>& names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return equals_ignoring_case(text, name); });
}

// Reads the client's definition of the function.
Expected<Script> parse_script(const json::object& body, ScriptKind kind) {
  Script script;
  OCTAVO_TRY(script.id, id_of(body));
  const auto text = [&](std::string_view name) -> std::string_view {
    const auto* member = body.if_contains(name);
    return member != nullptr && member->is_string() ? std::string_view(member->get_string()) : std::string_view();
  };
  script.body = text("body");
  if (script.body.empty()) {
    return fail(ErrorCode::bad_request, "The property 'body' must be a string with the source of a function.");
  }
  if (script.body.size() > script_bytes_max) return fail(ErrorCode::too_large, "A function may have 1 MB.");
  if (kind != ScriptKind::trigger) return script;
  constexpr std::array<std::string_view, 2> trigger_types{"Pre", "Post"};
  constexpr std::array<std::string_view, 6> trigger_operations{"All",     "Create", "Update",
                                                               "Replace", "Delete", "Upsert"};
  script.trigger_type = text("triggerType");
  if (!is_one_of(script.trigger_type, trigger_types)) {
    return fail(ErrorCode::bad_request, "triggerType must be \"Pre\" or \"Post\".");
  }
  script.trigger_operation = text("triggerOperation");
  if (!is_one_of(script.trigger_operation, trigger_operations)) {
    return fail(ErrorCode::bad_request,
                "triggerOperation must be one of All, Create, Update, Replace, Delete and Upsert.");
  }
  return script;
}

// Runs on a worker.
Expected<void> check_source(const Script& script) {
  auto checked = query::javascript::check_function(script.body);
  if (checked || checked.error().code != ErrorCode::bad_request) return checked;
  const std::string_view reason = checked.error().reason;
  const auto source = reason.rfind(" (" + script.body.substr(0, 16));
  return fail(ErrorCode::bad_request,
              "Encountered exception while compiling Javascript. Exception = " + std::string(reason.substr(0, source)));
}

struct Written {
  Script script;
  bool created = true;
};

/// What a write may find: `replaces` is the id in the path, which must exist; an upsert replaces what is there.
struct Condition {
  std::optional<std::string> replaces;
  bool upserts = false;
  std::optional<std::string> etag;
};

Expected<Written> store(const OpenContainer& opened, const KindWords& words, Script script,
                        const Condition& condition) {
  const auto& [replaces, upserts, etag] = condition;
  bool created = true;
  OCTAVO_TRY_VOID(check_source(script));
  const auto change = [&](const std::optional<Script>& before) -> Expected<Script> {
    if (replaces && !before) return fail(ErrorCode::not_found, "");
    if (!replaces && before && !upserts) return fail(ErrorCode::conflict, "", word::exists);
    if (before && etag && *etag != before->etag) return fail(ErrorCode::precondition_failed, "", word::etag);
    Script after = script;
    after.rid = before ? before->rid : show_rid(new_script_rid(opened.definition->rid, words.rid_kind));
    after.etag = new_etag();
    after.modified_s = unix_now_s();
    script = after;
    created = !before;
    return after;
  };
  if (replaces && *replaces != script.id) {
    return fail(ErrorCode::bad_request, "The id of this resource cannot be changed.");
  }
  ScriptStore functions(*opened.database);
  OCTAVO_TRY_VOID(functions.change(words.kind, std::string(script.id), change));
  return Written{std::move(script), created};
}

Handled list_scripts(const Call& call, const OpenContainer& opened, const KindWords& words) {
  OCTAVO_CO_TRY(const auto size, page_size_of(call.request));
  OCTAVO_CO_TRY(const auto after, continuation_of(call.request));
  OCTAVO_CO_TRY(const auto listed, co_await call.services.engine.workers().run_blocking(
                                       [&] { return ScriptStore(*opened.database).list(words.kind); }));
  std::vector<std::string> items;
  std::optional<std::string> next;
  std::string last;
  for (const auto& script : listed) {
    if (after && script.id <= *after) continue;
    if (items.size() == size) {
      next = to_continuation(last);
      break;
    }
    items.push_back(shown(script, words, *opened.definition));
    last = script.id;
  }
  co_return feed_reply(opened.definition->shape->container_rid(), words.feed, items, next);
}

Handled query_scripts(Call& call, const OpenContainer& opened, const KindWords& words) {
  OCTAVO_CO_TRY(const auto listed, co_await call.services.engine.workers().run_blocking(
                                       [&] { return ScriptStore(*opened.database).list(words.kind); }));
  ResourceList resources;
  for (const auto& script : listed) resources.emplace_back(script.id, shown(script, words, *opened.definition));
  co_return co_await query_resources(call, opened.definition->shape->container_rid(), words.feed, std::move(resources));
}

Handled write_script(const Call& call, const OpenContainer& opened, const KindWords& words) {
  OCTAVO_CO_TRY(const auto body, json_body(call.request));
  OCTAVO_CO_TRY(auto script, parse_script(body, words.kind));
  Condition condition{std::nullopt, call.flag("x-ms-documentdb-is-upsert"), etag_of(call.request)};
  if (!call.path.feed) condition.replaces = call.path.id;
  const auto run = [&] { return store(opened, words, std::move(script), condition); };
  OCTAVO_CO_TRY(const auto stored, co_await call.services.engine.workers().run_function(run));
  const std::string text = shown(stored.script, words, *opened.definition);
  co_return resource_reply(stored.created ? 201 : 200, text, stored.script.etag);
}

// Finds the function whose resource id the path has, and writes its name into the path.
Task<Expected<void>> name_script(Call& call, const OpenContainer& opened, ScriptKind kind) {
  OCTAVO_CO_TRY(const auto listed, co_await call.services.engine.workers().run_blocking(
                                       [&] { return ScriptStore(*opened.database).list(kind); }));
  // A name that looks like a resource id is preferred.
  if (std::ranges::find(listed, call.path.id, &Script::id) == listed.end()) {
    const auto found = std::ranges::find(listed, call.path.id, &Script::rid);
    if (found != listed.end()) call.path.id = found->id;
  }
  co_return Expected<void>{};
}

}  // namespace

Handled serve_scripts(Call& call) {
  const Method method = call.request.method;
  const KindWords& words = words_of(call.path.resource);
  const bool reads = method == Method::get || method == Method::head;
  OCTAVO_CO_TRY(const auto opened, co_await open_container(call));
  if (is_resource_id(call.path.id, inner_rid_bytes)) {
    OCTAVO_CO_TRY_VOID(co_await name_script(call, opened, words.kind));
  }
  if (!call.path.feed && method == Method::post && words.kind == ScriptKind::stored_procedure) {
    co_return co_await execute_procedure(call);
  }
  if (call.path.feed) {
    if (reads) co_return co_await list_scripts(call, opened, words);
    if (method != Method::post) co_return method_not_allowed();
    if (is_query(call.request)) co_return co_await query_scripts(call, opened, words);
    co_return co_await write_script(call, opened, words);
  }
  if (method == Method::put) co_return co_await write_script(call, opened, words);
  auto& engine = call.services.engine;
  if (method == Method::del) {
    const auto etag = etag_of(call.request);
    const auto check = [&](const Script& before) -> Expected<void> {
      if (etag && *etag != before.etag) return fail(ErrorCode::precondition_failed, "", word::etag);
      return {};
    };
    const auto run = [&] { return ScriptStore(*opened.database).erase(words.kind, call.path.id, check); };
    OCTAVO_CO_TRY_VOID(co_await engine.workers().run_blocking(run));
    Reply reply;
    reply.status = 204;
    reply.content_type = {};
    co_return reply;
  }
  if (!reads) co_return method_not_allowed();
  OCTAVO_CO_TRY(const auto found, co_await engine.workers().run_blocking(
                                      [&] { return ScriptStore(*opened.database).find(words.kind, call.path.id); }));
  if (!found) co_return fail(ErrorCode::not_found, "");
  co_return resource_reply(200, shown(*found, words, *opened.definition), found->etag);
}

}  // namespace octavo::api::cosmos

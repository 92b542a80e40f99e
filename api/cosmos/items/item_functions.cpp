#include "api/cosmos/items/item_functions.h"

#include <array>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "api/cosmos/call/authorization.h"
#include "api/cosmos/call/script_reply.h"
#include "api/cosmos/feeds/feed_scope.h"
#include "api/cosmos/items/item_operation.h"
#include "api/cosmos/items/other_id.h"
#include "api/models/errors.h"
#include "api/models/item_key.h"
#include "api/models/item_shape.h"
#include "api/scripts/item_model.h"
#include "api/scripts/script_session.h"
#include "api/scripts/script_store.h"
#include "api/scripts/user_functions.h"
#include "base/ascii_case.h"
#include "base/json_writer.h"
#include "partitioning/optimistic_transaction.h"

namespace octavo::api::cosmos {

namespace {

namespace javascript = query::javascript;
using partitioning::OptimisticTransaction;
using partitioning::Verdict;
using Kind = ItemRequest::Kind;

// Limit for one write: pre-triggers, and post-triggers.
constexpr std::size_t triggers_max = 10;
constexpr std::string_view pre_triggers = "x-ms-documentdb-pre-trigger-include";
constexpr std::string_view post_triggers = "x-ms-documentdb-post-trigger-include";

struct Trigger {
  std::string id;
  std::string operation;
  javascript::ProgramPtr program;
};

// Parses "a, b", a list of trigger names.
std::vector<std::string> names_of(std::optional<std::string_view> header) {
  std::vector<std::string> names;
  std::string_view rest = header.value_or("");
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    std::string_view name = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty()) names.emplace_back(name);
  }
  return names;
}

Expected<std::vector<Trigger>> find_triggers(partitioning::Database& database, std::optional<std::string_view> header,
                                             std::string_view type) {
  using scripts::ScriptKind;
  std::vector<Trigger> triggers;
  const scripts::ScriptStore store(database);
  const auto names = names_of(header);
  if (names.size() > triggers_max) {
    return fail(ErrorCode::bad_request, "A write includes at most " + std::to_string(triggers_max) +
                                            " triggers of the type " + std::string(type) + '.');
  }
  for (const auto& name : names) {
    OCTAVO_TRY(auto script, store.find(ScriptKind::trigger, name));
    if (!script) return fail(ErrorCode::bad_request, "The trigger '" + name + "' does not exist.");
    if (!equals_ignoring_case(script->trigger_type, type)) {
      return fail(ErrorCode::bad_request, "The trigger '" + name + "' is of the type " + script->trigger_type +
                                              ": it cannot be included as one of the type " + std::string(type) + '.');
    }
    Trigger trigger{.id = script->id, .operation = script->trigger_operation, .program = {}};
    trigger.program = scripts::program_of(database, ScriptKind::trigger, script->id, std::move(script->body));
    triggers.push_back(std::move(trigger));
  }
  return triggers;
}

std::string_view operation_name(Kind kind) {
  constexpr std::array<std::string_view, 5> names{"Create", "Upsert", "Replace", "Delete", "Replace"};
  return names[static_cast<std::size_t>(kind)];
}

bool fires_on(const Trigger& trigger, Kind kind, bool exists) {
  const auto is_on = [&](std::string_view name) { return equals_ignoring_case(trigger.operation, name); };
  const bool replaces = kind == Kind::replace || kind == Kind::patch || (kind == Kind::upsert && exists);
  if (is_on("All")) return true;
  if (is_on("Create")) return kind == Kind::create || (kind == Kind::upsert && !exists);
  if (is_on("Delete")) return kind == Kind::remove;
  if (is_on("Upsert")) return kind == Kind::upsert;
  return replaces;  // Replace, Update
}

ItemOperation::Kind operation_kind_of(Kind kind) {
  switch (kind) {
    case Kind::create:
      return ItemOperation::Kind::create;
    case Kind::upsert:
      return ItemOperation::Kind::upsert;
    case Kind::replace:
      return ItemOperation::Kind::replace;
    case Kind::remove:
      return ItemOperation::Kind::remove;
    case Kind::patch:
      break;
  }
  return ItemOperation::Kind::patch;
}

// One write with its functions. Each attempt starts from the beginning.
class FunctionalWrite {
 public:
  FunctionalWrite(Call& call, const OpenContainer& opened, const ItemRequest& request, const scripts::WriteRules* rules)
      : call_(call),
        opened_(opened),
        rules_(rules),
        request_(request),
        model_(*opened.definition, request.key, call.path.container_link(),
               call.services.settings.cosmos_item_bytes_max),
        self_link_(model_.self_link()),
        alt_link_(model_.alt_link()) {}

  Expected<Verdict> attempt(OptimisticTransaction& transaction) {
    response_.clear();
    failure_.reset();
    log_.clear();
    started_ = std::chrono::steady_clock::now();
    if (!found_) {
      OCTAVO_TRY(before_, find_triggers(*opened_.database, call_.request.header(pre_triggers), "Pre"));
      OCTAVO_TRY(after_, find_triggers(*opened_.database, call_.request.header(post_triggers), "Post"));
      found_ = true;
    }
    scripts::StoredFunctions functions(opened_.database);
    scripts::ScriptSession session(transaction, model_,
                                   {.call_time = call_.services.settings.javascript_call_time_ms,
                                    .services = opened_.services(),
                                    .user_functions = &functions,
                                    .rules = rules_});
    auto verdict = run(transaction, session);
    charge_ = session.charge() + partitioning::charge_of_function(session.worked());
    return verdict;
  }

  const OperationResult& result() const { return result_; }
  const std::string& response() const { return response_; }
  const std::optional<javascript::ScriptResult::Failure>& failure() const { return failure_; }
  const std::string& log() const { return log_; }
  double charge() const { return charge_; }

 private:
  Expected<Verdict> run(OptimisticTransaction& transaction, scripts::ScriptSession& session) {
    ItemOperation operation;
    operation.kind = operation_kind_of(request_.kind);
    operation.key = request_.key;
    name_operation(operation, request_.body_id.empty() ? request_.id : request_.body_id);
    operation.body = request_.body;
    operation.patch = request_.patch;
    operation.match = request_.match;
    OCTAVO_TRY(const auto stored, transaction.find(document_id(request_.key, request_.id)));
    const bool exists = stored && !stored->deleted;
    for (const auto& trigger : before_) {
      OCTAVO_TRY(auto ran, run_trigger(trigger, session, exists, operation.body, {}, false));
      if (failure_) return Verdict::discard;
      if (!ran.request.empty() && !operation.body.empty()) OCTAVO_TRY_VOID(change_body(ran.request, operation));
    }
    const auto& container = *opened_.definition;
    scripts::ValidatedTransaction validated(transaction, rules_);
    OCTAVO_TRY(result_, operation.run(validated, container, call_.services.settings.cosmos_item_bytes_max));
    if (result_.error) return std::unexpected(*result_.error);
    if (request_.kind != Kind::remove) {
      container.shape->append_item(response_, operation.document_id, result_.revision, result_.modified_s, result_.body,
                                   links_of_written(call_));
    }
    if (!after_.empty()) {
      transaction.hide_from_scans(operation.document_id);
      if (operation.gives_other_id()) transaction.hide_from_scans(operation.former_document_id);
    }
    for (const auto& trigger : after_) {
      OCTAVO_TRY(auto ran, run_trigger(trigger, session, exists, operation.body, response_, true));
      if (failure_) return Verdict::discard;
      response_ = std::move(ran.response);
    }
    return Verdict::commit;
  }

  Expected<javascript::ScriptResult> run_trigger(const Trigger& trigger, scripts::ScriptSession& session, bool exists,
                                                 std::string_view request_body, std::string_view response_body,
                                                 bool has_response) {
    if (!fires_on(trigger, request_.kind, exists)) {
      return fail(ErrorCode::bad_request, "The trigger '" + trigger.id + "' is for the operation " + trigger.operation +
                                              ": it cannot be included in another one.");
    }
    // Each trigger has its own time limit. No trigger starts once all together have used that time.
    if (std::chrono::steady_clock::now() - started_ > call_.services.settings.javascript_call_time_ms) {
      return fail(ErrorCode::timeout, "The triggers took too long.", "resource_limit");
    }
    const javascript::ScriptCall script_call{.self_link = self_link_,
                                             .alt_link = alt_link_,
                                             .operation = operation_name(request_.kind),
                                             .request_body = request_body,
                                             .response_body = response_body,
                                             .has_response = has_response};
    OCTAVO_TRY(auto ran, javascript::run_script(trigger.program, session, script_call));
    if (log_.size() + ran.log.size() <= call_.services.settings.javascript_log_bytes_max) log_ += ran.log;
    failure_ = ran.failure;
    return ran;
  }

  // `item_id`: of the item as it is written.
  void name_operation(ItemOperation& operation, std::string item_id) const {
    operation.item_id = std::move(item_id);
    operation.document_id = document_id(request_.key, operation.item_id);
    const bool moves = request_.kind == Kind::replace && operation.item_id != request_.id;
    operation.former_document_id = moves ? document_id(request_.key, request_.id) : std::string();
  }

  // The item from a trigger is checked like an item from a client.
  Expected<void> change_body(std::string_view json, ItemOperation& operation) const {
    OCTAVO_TRY(auto item,
               parse_item(json, *opened_.definition, call_.services.settings.cosmos_item_bytes_max, request_.key));
    if (request_.kind == Kind::replace && item.id != request_.id) {
      OCTAVO_TRY_VOID(check_other_id(call_, item.id));
      // Whether the former key and the id lead to this item only was checked for the id that the client sent.
      if (call_.present_key && item.id != request_.body_id) {
        return fail(ErrorCode::bad_request,
                    "A trigger cannot give an item another id if the client names the former partition key.");
      }
    }
    name_operation(operation, std::move(item.id));
    operation.body = std::move(item.body);
    return {};
  }

  Call& call_;
  const OpenContainer& opened_;
  const scripts::WriteRules* const rules_;  ///< null: none
  const ItemRequest& request_;
  const ItemModel model_;
  const std::string self_link_;
  const std::string alt_link_;
  std::vector<Trigger> before_;
  std::vector<Trigger> after_;
  bool found_ = false;
  OperationResult result_;
  std::string response_;
  std::string log_;
  std::chrono::steady_clock::time_point started_;
  std::optional<javascript::ScriptResult::Failure> failure_;
  double charge_ = 0;
};

}  // namespace

Expected<std::optional<scripts::WriteRules>> rules_of(const Call& call, const OpenContainer& opened) {
  OCTAVO_TRY(auto validation, scripts::WriteRules::validation_of(opened.services()));
  if (!validation) return std::nullopt;
  // Account keys act as admin; resource tokens have no user name and no roles.
  std::string user = "{\"db\":";
  append_json_string(user, opened.database->name());
  user += call.credential == Credential::resource_token ? ",\"name\":null,\"roles\":[]}"
                                                        : ",\"name\":null,\"roles\":[\"_admin\"]}";
  const auto security = opened.database->security();
  return std::optional<scripts::WriteRules>(std::in_place, std::move(validation), std::move(user),
                                            security ? *security : "{}");
}

Expected<bool> has_functions(const Call& call, const OpenContainer& opened) {
  if (call.request.header(pre_triggers) || call.request.header(post_triggers)) return true;
  OCTAVO_TRY(const auto validation, scripts::WriteRules::validation_of(opened.services()));
  return validation != nullptr;
}

Handled write_with_functions(Call& call, const OpenContainer& opened, ItemRequest request) {
  OCTAVO_CO_TRY(const auto rules, rules_of(call, opened));
  FunctionalWrite write(call, opened, request, rules ? &*rules : nullptr);
  const bool in_turn = call.request.header(pre_triggers) || call.request.header(post_triggers);
  const std::string partition_key = request.key.encode();
  const auto target = opened.database->target_of_partition_key(partition_key);
  OCTAVO_CO_TRY_VOID(call.admit(opened.database, target));
  const std::function<Expected<Verdict>(OptimisticTransaction&)> attempt =
      [&write](OptimisticTransaction& transaction) { return write.attempt(transaction); };
  const auto committed = co_await partitioning::run_optimistically(opened.database, target, in_turn, attempt);
  call.account.request_charge =
      std::max(write.charge() + (committed ? committed->write_charge : 0), partitioning::charge_of_metadata());
  if (!committed) co_return std::unexpected(committed.error());
  call.account.sequence = std::max<std::uint64_t>(committed->sequence, opened.database->committed_sequence());
  call.account.session_token = session_token(call.account.partition_id, call.account.sequence);
  Reply reply = write.failure() ? script_failure_reply(*write.failure()) : Reply{};
  if (call.flag("x-ms-documentdb-script-enable-logging")) add_script_log(reply, write.log());
  if (write.failure()) co_return reply;
  reply.status = write.result().status;
  if (reply.status == 204 || wants_no_body(call) || write.response().empty()) {
    reply.content_type = {};
  } else {
    reply.body = write.response();
  }
  if (reply.status != 204) reply.headers.emplace_back("etag", quoted_etag(write.result().revision));
  co_return reply;
}

}  // namespace octavo::api::cosmos

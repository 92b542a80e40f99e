#include "query/functions/design_functions.h"

#include <utility>

#include "base/json_writer.h"
#include "partitioning/scan.h"
#include "query/design/design_scan.h"
#include "query/functions/procedures.h"
#include "query/javascript/functions.h"
#include "query/json/split.h"
#include "query/view/reducer.h"

namespace octavo::query {

namespace {

using javascript::Program;

constexpr std::size_t programs_max = 64;

javascript::ProgramPtr program_of(const partitioning::Database& database, const DesignDocument& document,
                                  std::vector<Program::Function> functions) {
  return std::make_shared<const Program>(database.instance_tag(), std::move(functions), document.body);
}

template <class Sources, class Source>
std::vector<Program::Function> functions_of(const DesignDocument& document, std::string_view kind,
                                            const Sources& sources, Source source) {
  std::vector<Program::Function> functions;
  functions.reserve(sources.size());
  for (const auto& entry : sources) {
    functions.push_back({.name = document.id + " " + std::string(kind) + " " + entry.name, .source = source(entry)});
  }
  return functions;
}

Expected<void> check_compiles(std::string_view kind, std::string_view name, std::string_view owner,
                              std::string_view source) {
  auto checked = javascript::check_function(source);
  if (checked || checked.error().code != ErrorCode::bad_request) return checked;
  checked.error().reason = "Compilation of the " + std::string(kind) + " function in the '" + std::string(name) + "' " +
                           std::string(owner) + " failed: " + checked.error().reason;
  return checked;
}

// A validation function that cannot be run rejects every write, as in CouchDB without a query server for its language.
// Null if the document has no validation function.
javascript::ProgramPtr refusal_of(const partitioning::Database& database, const storage::DocumentView& document) {
  const auto members = split_object(document.body);
  if (!members || member_value(*members, "validate_doc_update").empty()) return nullptr;
  std::string reason;
  append_json_string(reason, std::string(document.id) +
                                 " has a validate_doc_update of another language than JavaScript: no document can be "
                                 "written until it is changed or deleted.");
  std::vector<Program::Function> rule{{.name = std::string(document.id) + " validate_doc_update",
                                       .source = "function() { throw {forbidden: " + reason + "}; }"}};
  return std::make_shared<const Program>(database.instance_tag(), std::move(rule), "");
}

}  // namespace

void DesignFunctions::design_documents_changed() {
  auto state = state_.load(std::memory_order_relaxed);
  while (
      !state_.compare_exchange_weak(state, ((state & ~state_mask) + one_change) | unknown, std::memory_order_acq_rel)) {
  }
}

Expected<std::shared_ptr<const Validation>> DesignFunctions::validation() {
  const auto state = state_.load(std::memory_order_acquire) & state_mask;
  if (state == none) return nullptr;
  if (state == unknown) OCTAVO_TRY_VOID(load());
  auto validation = validation_.load();
  if (validation && validation->programs.empty()) return nullptr;
  return validation;
}

Expected<void> DesignFunctions::load() {
  const std::lock_guard lock(load_mutex_);
  auto state = state_.load(std::memory_order_acquire);
  if ((state & state_mask) != unknown) return {};
  OCTAVO_TRY(auto programs, read_validation());
  const auto known = programs.empty() ? none : some;
  validation_.store(std::make_shared<const Validation>(Validation{std::move(programs)}));
  // If a design document changed meanwhile, this fails and the next call loads again.
  state_.compare_exchange_strong(state, state | known, std::memory_order_acq_rel);
  return {};
}

Expected<std::vector<javascript::ProgramPtr>> DesignFunctions::read_validation() {
  std::vector<javascript::ProgramPtr> programs;
  const auto visit = [&](const storage::DocumentView& document) {
    constexpr std::string_view validation_member = "\"validate_doc_update\"";
    if (document.body.find(validation_member) == std::string_view::npos) return;
    const auto read = read_design_document(document.id, document.revision.to_string(), document.body);
    if (!read) return;  // not a valid design document
    if (!*read) {
      if (auto refusal = refusal_of(database_, document)) programs.push_back(std::move(refusal));
      return;
    }
    if (!(*read)->validate_doc_update) return;
    const auto& design = **read;
    programs.push_back(
        program_of(database_, design, {{design.id + " validate_doc_update", *design.validate_doc_update}}));
  };
  OCTAVO_TRY_VOID(for_each_design_document(database_, visit));
  return programs;
}

Expected<std::shared_ptr<const DesignPrograms>> DesignFunctions::find(std::string_view name) {
  const auto id = std::string(storage::design_prefix) + std::string(name);
  OCTAVO_TRY(const auto snapshot, database_.snapshot_for_document(id));
  OCTAVO_TRY(const auto stored, snapshot.find(id));
  if (!stored) return fail(ErrorCode::not_found, "");
  if (stored->deleted) return fail(ErrorCode::deleted, "");
  const auto revision = stored->revision.to_string();
  {
    const std::lock_guard lock(programs_mutex_);
    const auto known = programs_.find(id);
    if (known != programs_.end() && known->second->document->revision == revision) return known->second;
  }
  OCTAVO_TRY(auto document, read_design_document(id, revision, stored->body));
  if (!document) {
    return fail(ErrorCode::bad_request, id + " has functions of another language than JavaScript.",
                "unknown_query_language");
  }
  auto programs = std::make_shared<DesignPrograms>();
  const auto source = [](const NamedFunction& function) { return function.source; };
  programs->filters = program_of(database_, *document, functions_of(*document, "filter", document->filters, source));
  programs->updates = program_of(database_, *document, functions_of(*document, "update", document->updates, source));
  programs->views =
      program_of(database_, *document,
                 functions_of(*document, "view", document->views, [](const auto& view) { return view.map; }));
  programs->document = std::move(document);
  const std::lock_guard lock(programs_mutex_);
  if (programs_.size() >= programs_max) programs_.clear();
  programs_.insert_or_assign(id, programs);
  return programs;
}

Expected<void> check_functions(const DesignDocument& document, bool replicated) {
  for (const auto& view : document.views) {
    OCTAVO_TRY_VOID(check_compiles("map", view.name, "view", view.map));
    if (!view.reduce) continue;
    if (!views::is_built_in(*view.reduce)) {
      OCTAVO_TRY_VOID(check_compiles("reduce", view.name, "view", *view.reduce));
    } else if (!replicated) {
      OCTAVO_TRY_VOID(views::check_reduce(*view.reduce));
    }
  }
  if (replicated) return {};
  for (const auto& index : document.indexes) {
    OCTAVO_TRY_VOID(check_compiles("index", index.name, "search index", index.index));
  }
  for (const auto& filter : document.filters) {
    OCTAVO_TRY_VOID(check_compiles("filter", filter.name, "filter", filter.source));
  }
  for (const auto& update : document.updates) {
    OCTAVO_TRY_VOID(check_compiles("update", update.name, "update", update.source));
  }
  OCTAVO_TRY(const auto procedures, procedures_of(document.body));
  for (const auto& procedure : procedures) {
    OCTAVO_TRY_VOID(check_compiles("procedure", procedure.name, "stored procedure", procedure.source));
  }
  if (document.validate_doc_update) {
    OCTAVO_TRY_VOID(check_compiles("validate", "validate_doc_update", "member", *document.validate_doc_update));
  }
  return {};
}

}  // namespace octavo::query

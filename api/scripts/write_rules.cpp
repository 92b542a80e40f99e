#include "api/scripts/write_rules.h"

#include "api/models/document_renderer.h"
#include "base/json_writer.h"
#include "query/database/database_services.h"
#include "query/javascript/functions.h"

namespace octavo::api::scripts {

std::string document_for_validation(std::string_view id, const std::vector<storage::Revision>& history, bool deleted,
                                    std::string_view body) {
  std::string out = "{\"_id\":";
  append_json_string(out, id);
  if (!history.empty()) {
    out += ",\"_rev\":";
    couch::append_revision(out, history.front());
  }
  if (deleted) out += ",\"_deleted\":true";
  out += ",\"_revisions\":{\"start\":";
  append_json_number(out, history.empty() ? std::uint64_t{0} : history.front().generation);
  out += ",\"ids\":[";
  for (std::size_t i = 0; i < history.size(); ++i) {
    if (i > 0) out += ',';
    const auto text = history[i].to_string();
    append_json_string(out, std::string_view(text).substr(text.find('-') + 1));
  }
  out += "]}";
  if (body.size() > 2) {
    out += ',';
    out.append(body, 1);
  } else {
    out += '}';
  }
  return out;
}

Expected<std::shared_ptr<const query::Validation>> WriteRules::validation_of(query::DatabaseServices* services) {
  if (services == nullptr) return nullptr;
  return services->design_functions().validation();
}

Expected<void> WriteRules::check(const storage::DocumentView& after,
                                 const std::optional<storage::DocumentView>& before) const {
  std::vector<storage::Revision> history;
  std::optional<std::string> old;
  if (before) {
    history.push_back(before->revision);
    couch::append_document(old.emplace(), before->id, before->revision, before->deleted, before->body);
  }
  const std::string document = document_for_validation(after.id, history, after.deleted, after.body);
  for (const auto& program : validation_->programs) {
    OCTAVO_TRY_VOID(query::javascript::validate(program, 0, document, old, user_context_, security_));
  }
  return {};
}

Expected<storage::Refusal> ValidatedTransaction::check_rules(const storage::DocumentWrite& write) {
  if (rules_ == nullptr) return std::nullopt;
  // Checked before any function runs, as for other writes.
  OCTAVO_TRY(auto refusal, transaction_.check(write));
  if (refusal) return refusal;
  OCTAVO_TRY(const auto before, transaction_.find(write.id));
  storage::DocumentView after;
  after.id = write.id;
  after.deleted = write.deleted;
  after.body = write.body;
  auto valid = rules_->check(after, before);
  if (!valid) return storage::Refusal(std::move(valid).error());
  return std::nullopt;
}

Expected<storage::EditOutcome> ValidatedTransaction::apply(const storage::DocumentWrite& write) {
  OCTAVO_TRY(auto refusal, check_rules(write));
  if (refusal) return storage::EditOutcome(std::unexpected(*std::move(refusal)));
  return transaction_.apply(write);
}

Expected<storage::EditOutcome> ValidatedTransaction::move(const storage::DocumentWrite& deletion,
                                                          const storage::DocumentWrite& creation) {
  for (const storage::DocumentWrite* write : {&deletion, &creation}) {
    OCTAVO_TRY(auto refusal, check_rules(*write));
    if (refusal) return storage::EditOutcome(std::unexpected(*std::move(refusal)));
  }
  return transaction_.move(deletion, creation);
}

}  // namespace octavo::api::scripts

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitioning/optimistic_transaction.h"
#include "query/functions/design_functions.h"
#include "storage/document/document.h"
#include "storage/partition/document_transaction.h"

namespace octavo::query {
class DatabaseServices;
}

namespace octavo::api::scripts {

/// A new revision as `validate_doc_update` sees it. `history`, newest first: the revision that it is based on, or the
/// revisions that it contains.
std::string document_for_validation(std::string_view id, const std::vector<storage::Revision>& history, bool deleted,
                                    std::string_view body);

/// The validations that writes of a database must pass, for one request. Used on a worker.
class WriteRules {
 public:
  /// Null: no validations (one atomic load), or no services. Errors: those of reading the design documents.
  static Expected<std::shared_ptr<const query::Validation>> validation_of(query::DatabaseServices* services);

  WriteRules(std::shared_ptr<const query::Validation> validation, std::string user_context, std::string security)
      : validation_(std::move(validation)), user_context_(std::move(user_context)), security_(std::move(security)) {}

  /// `before`: the stored document, if any. Errors: forbidden, unauthorized, function_failed.
  Expected<void> check(const storage::DocumentView& after, const std::optional<storage::DocumentView>& before) const;

 private:
  const std::shared_ptr<const query::Validation> validation_;
  const std::string user_context_;
  const std::string security_;
};

/// Checks the rules before each edit. If the document that they saw changes before the commit, nothing is committed.
class ValidatedTransaction final : public storage::DocumentTransaction {
 public:
  /// `rules`: null means none.
  ValidatedTransaction(partitioning::OptimisticTransaction& transaction, const WriteRules* rules)
      : transaction_(transaction), rules_(rules) {}

  Expected<std::optional<storage::DocumentView>> find(std::string_view id) override { return transaction_.find(id); }
  /// Edits are also refused with the errors of WriteRules::check.
  Expected<storage::EditOutcome> apply(const storage::DocumentWrite& write) override;
  /// See OptimisticTransaction::move. Refused with the same errors.
  Expected<storage::EditOutcome> move(const storage::DocumentWrite& deletion, const storage::DocumentWrite& creation);

 private:
  Expected<storage::Refusal> check_rules(const storage::DocumentWrite& write);

  partitioning::OptimisticTransaction& transaction_;
  const WriteRules* const rules_;
};

}  // namespace octavo::api::scripts

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitioning/optimistic_transaction.h"
#include "query/design/design_functions.h"
#include "storage/document.h"

namespace octavo::api::scripts {

/// A new revision as `validate_doc_update` sees it: with the revision that it is based on, or that it brings
/// (`history`, newest first).
std::string document_for_validation(std::string_view id, const std::vector<storage::Revision>& history, bool deleted,
                                    std::string_view body);

/// What writes of a database's documents have to pass, for one request. Used on a worker.
class WriteRules {
 public:
  /// Null: there is nothing to pass, told by one atomic load. Errors: what keeps the rules from being read.
  static Expected<std::shared_ptr<const query::Validation>> validation_of(partitioning::Database& database);

  WriteRules(std::shared_ptr<const query::Validation> validation, std::string user_context, std::string security)
      : validation_(std::move(validation)), user_context_(std::move(user_context)), security_(std::move(security)) {}

  /// `before`: the stored document, if any. Errors: forbidden, unauthorized, function_failed.
  Expected<void> check(const storage::DocumentView& after, const std::optional<storage::DocumentView>& before) const;

 private:
  const std::shared_ptr<const query::Validation> validation_;
  const std::string user_context_;
  const std::string security_;
};

/// Edits that pass the rules first. What the rules are shown is what the edit replaces, or nothing is committed.
class ValidatedTransaction final : public storage::DocumentTransaction {
 public:
  /// `rules`: null: there are none.
  ValidatedTransaction(partitioning::OptimisticTransaction& transaction, const WriteRules* rules)
      : transaction_(transaction), rules_(rules) {}

  Expected<std::optional<storage::DocumentView>> find(std::string_view id) override { return transaction_.find(id); }
  /// Inner errors are also those of WriteRules::check.
  Expected<Expected<storage::WrittenDocument>> apply(const storage::DocumentWrite& write) override;

 private:
  partitioning::OptimisticTransaction& transaction_;
  const WriteRules* const rules_;
};

}  // namespace octavo::api::scripts

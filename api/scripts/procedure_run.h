#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "api/scripts/document_model.h"
#include "api/scripts/write_rules.h"
#include "base/task.h"
#include "partitioning/optimistic_transaction.h"
#include "query/javascript/script.h"

namespace octavo::api::scripts {

/// A call of a stored procedure. Referenced objects, and the text that `target` refers to, must outlive the run.
struct ProcedureCall {
  std::shared_ptr<partitioning::Database> database;
  query::DatabaseServices* services = nullptr;  ///< of the database, for queries; null: none
  partitioning::DocumentTarget target;          ///< a logical partition
  const DocumentModel& model;
  std::string arguments;              ///< a JSON array
  const WriteRules* rules = nullptr;  ///< null: none
  std::chrono::milliseconds call_time{5'000};
  /// Returns the procedure's program. Called once, on a worker.
  std::function<Expected<query::javascript::ProgramPtr>()> find;
};

struct ProcedureOutcome {
  /// Contains the exception if the procedure threw one; then nothing was written.
  Expected<query::javascript::ScriptResult> result;
  partitioning::RequestUnits charge = 0;
  storage::Sequence sequence = 0;  ///< of its last write; 0: it wrote nothing
};

/// Runs it as one transaction, and retries if other writes changed what it read. Durable when it returns.
Task<ProcedureOutcome> run_procedure(ProcedureCall call);

/// Arguments in a request's body: a JSON array; an empty body means no arguments. Errors: bad_request.
Expected<std::string> parse_arguments(std::string_view body);

}  // namespace octavo::api::scripts

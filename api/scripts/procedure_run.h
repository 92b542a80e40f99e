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

/// A stored procedure and what it is run on. What is referred to outlives the run.
struct ProcedureCall {
  std::shared_ptr<partitioning::Database> database;
  std::string partition_key;  ///< as in front of documents' ids
  const DocumentModel& model;
  std::string arguments;              ///< a JSON array
  const WriteRules* rules = nullptr;  ///< null: writes need not pass any
  std::chrono::milliseconds call_time{5'000};
  /// Called on a worker, once.
  std::function<Expected<query::javascript::ProgramPtr>()> find;
};

struct ProcedureOutcome {
  /// What it threw is in the result; then nothing was written.
  Expected<query::javascript::ScriptResult> result;
  partitioning::RequestUnits charge = 0;
  storage::Sequence sequence = 0;  ///< of its last write; 0: it wrote nothing
};

/// Runs it as one transaction, again where others wrote what it read meanwhile; durable when it returns.
Task<ProcedureOutcome> run_procedure(ProcedureCall call);

/// Arguments as a request's body has them: a JSON array; nothing is none. Errors: bad_request.
Expected<std::string> parse_arguments(std::string_view body);

}  // namespace octavo::api::scripts

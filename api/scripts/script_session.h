#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/scripts/document_model.h"
#include "api/scripts/write_rules.h"
#include "base/machine/processor_time.h"
#include "partitioning/optimistic_transaction.h"
#include "partitioning/throughput/request_charge.h"
#include "query/javascript/script.h"
#include "query/sql/evaluate/user_functions.h"

namespace octavo::api::scripts {

/// Reads and writes for a stored procedure or trigger, in one attempt of a transaction and in the format of an API.
/// Lives as long as the attempt; used by one thread at a time.
class ScriptSession final : public query::javascript::ScriptHost {
 public:
  struct Options {
    std::chrono::milliseconds call_time{5'000};           ///< calls are refused after three quarters of it
    query::DatabaseServices* services = nullptr;          ///< of the database, for queries; null: none
    query::sql::UserFunctions* user_functions = nullptr;  ///< for queries; null: none
    const WriteRules* rules = nullptr;                    ///< checked at each write; null: none
  };
  ScriptSession(partitioning::OptimisticTransaction& transaction, const DocumentModel& model, Options options)
      : transaction_(transaction), model_(model), options_(options) {}

  /// Errors abort the script: storage errors, overloaded, and conflict if the transaction is already stale.
  Expected<Answer> run(const Request& request) override;

  /// Charge of all reads so far; writes are charged at commit.
  partitioning::RequestUnits charge() const { return charge_; }
  /// Processor time of this thread since the session was created on it.
  std::chrono::nanoseconds worked() const { return processor_time() - processor_begun_; }

 private:
  Expected<Answer> read(const Request& request);
  Expected<Answer> query(const Request& request);
  Expected<Answer> write(const Request& request);
  Expected<Answer> apply(const storage::DocumentWrite& write, Operation operation);
  Expected<Answer> give_other_id(storage::DocumentWrite replacement, std::string id);
  Expected<std::optional<std::string>> id_of_link(std::string_view link);
  Expected<std::string> find_by_self_name(std::string_view name);
  Expected<Answer> show(std::string_view id);
  bool is_late(int quarters) const;

  partitioning::OptimisticTransaction& transaction_;
  const DocumentModel& model_;
  const Options options_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  const std::chrono::nanoseconds processor_begun_ = processor_time();
  partitioning::RequestUnits charge_ = 0;
  std::size_t refused_ = 0;                                    ///< calls that were refused
  std::unordered_map<std::string, std::string> by_self_name_;  ///< self name → document id
  bool knows_self_names_ = false;
};

}  // namespace octavo::api::scripts

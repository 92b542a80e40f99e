#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/scripts/document_model.h"
#include "api/scripts/write_rules.h"
#include "base/processor_time.h"
#include "partitioning/optimistic_transaction.h"
#include "partitioning/request_charge.h"
#include "query/javascript/script.h"
#include "query/sql/sql_query.h"

namespace octavo::api::scripts {

/// What a stored procedure or trigger reads and writes: one attempt of a transaction, in the words of a door. Lives as
/// long as the attempt; one thread at a time.
class ScriptSession final : public query::javascript::ScriptHost {
 public:
  struct Options {
    std::chrono::milliseconds call_time{5'000};           ///< after three quarters of it nothing more is accepted
    query::sql::UserFunctions* user_functions = nullptr;  ///< for queries; null: there are none
    const WriteRules* rules = nullptr;                    ///< that writes have to pass; null: none
  };
  ScriptSession(partitioning::OptimisticTransaction& transaction, const DocumentModel& model, Options options)
      : transaction_(transaction), model_(model), options_(options) {}

  /// Errors end the script: those of the storage, overloaded, and conflict when the transaction is stale already.
  Expected<Answer> run(const Request& request) override;

  /// Of all that was read so far; writes are charged when they are committed.
  partitioning::RequestUnits charge() const { return charge_; }
  /// Processor time of this thread, since the session began on it.
  std::chrono::nanoseconds worked() const { return processor_time() - processor_begun_; }

 private:
  Expected<Answer> read(const Request& request);
  Expected<Answer> query(const Request& request);
  Expected<Answer> write(const Request& request);
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
  std::size_t refused_ = 0;                                    ///< writes after the last one that was accepted
  std::unordered_map<std::string, std::string> by_self_name_;  ///< ids of the partition's documents
  bool knows_self_names_ = false;
};

}  // namespace octavo::api::scripts

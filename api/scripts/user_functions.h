#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "partitioning/database.h"
#include "query/javascript/program.h"
#include "query/sql/sql_query.h"

namespace octavo::api::scripts {

/// The user-defined functions that are stored with a database, for one query: each is looked up at its first call.
/// One thread at a time, which may take long.
class StoredFunctions final : public query::sql::UserFunctions {
 public:
  explicit StoredFunctions(std::shared_ptr<partitioning::Database> database) : database_(std::move(database)) {}

  /// Errors: bad_request when there is no such function; function_failed.
  Expected<std::string> call(std::string_view name, std::span<const std::string> arguments) override;
  /// That the functions took.
  std::chrono::nanoseconds time() const { return time_; }

 private:
  Expected<query::javascript::ProgramPtr> find(std::string_view name);

  const std::shared_ptr<partitioning::Database> database_;
  std::map<std::string, query::javascript::ProgramPtr, std::less<>> programs_;
  std::chrono::nanoseconds time_{0};
};

}  // namespace octavo::api::scripts

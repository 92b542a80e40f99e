#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "partitioning/database.h"
#include "query/javascript/program.h"
#include "query/sql/evaluate/user_functions.h"

namespace octavo::api::scripts {

/// The user-defined functions stored with a database, for one query. Each is looked up at its first call. Used by one
/// thread at a time; calls may take long.
class StoredFunctions final : public query::sql::UserFunctions {
 public:
  explicit StoredFunctions(std::shared_ptr<partitioning::Database> database) : database_(std::move(database)) {}

  /// Errors: bad_request if there is no such function; timeout; function_failed.
  Expected<std::string> call(std::string_view name, std::span<const std::string> arguments) override;
  /// Processor time of all calls.
  std::chrono::nanoseconds time() const { return time_; }

 private:
  /// Measures the processor time of calls. Reading the processor clock takes longer than most functions, so it is read
  /// only now and then, and limits the wall-clock time of long calls.
  class CallClock {
   public:
    void begin();
    std::chrono::nanoseconds end() const;

   private:
    std::chrono::steady_clock::time_point begun_;
    std::chrono::steady_clock::time_point asked_;  ///< when processor_begun_ was read
    std::chrono::nanoseconds processor_begun_{0};
    std::thread::id thread_;
  };

  Expected<query::javascript::ProgramPtr> find(std::string_view name);

  const std::shared_ptr<partitioning::Database> database_;
  std::map<std::string, query::javascript::ProgramPtr, std::less<>> programs_;
  CallClock clock_;
  std::chrono::nanoseconds time_{0};
};

}  // namespace octavo::api::scripts

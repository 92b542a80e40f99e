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
#include "query/sql/sql_query.h"

namespace octavo::api::scripts {

/// The user-defined functions that are stored with a database, for one query: each is looked up at its first call.
/// One thread at a time, which may take long.
class StoredFunctions final : public query::sql::UserFunctions {
 public:
  explicit StoredFunctions(std::shared_ptr<partitioning::Database> database) : database_(std::move(database)) {}

  /// Errors: bad_request when there is no such function; function_failed.
  Expected<std::string> call(std::string_view name, std::span<const std::string> arguments) override;
  /// Of the processor, that the functions took.
  std::chrono::nanoseconds time() const { return time_; }

 private:
  /// Times calls by the processor, whose clock takes longer to ask than most functions take: it is asked now and then,
  /// and bounds the time of calls that took long by the clock on the wall.
  class CallClock {
   public:
    void begin();
    std::chrono::nanoseconds end() const;

   private:
    std::chrono::steady_clock::time_point begun_;
    std::chrono::steady_clock::time_point asked_;  ///< the processor, for
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

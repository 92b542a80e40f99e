#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "partitioning/database.h"
#include "query/javascript/program.h"

namespace octavo::api::scripts {

enum class ScriptKind : std::uint8_t { stored_procedure, trigger, user_function };

/// A function stored with a database by the Cosmos DB API: the client's definition and system properties.
struct Script {
  std::string id;
  std::string body;  ///< the function's source
  std::string rid;   ///< in base64
  std::string etag;
  std::int64_t modified_s = 0;
  std::string trigger_type;       ///< of triggers: `Pre` or `Post`, in the client's case
  std::string trigger_operation;  ///< `All`, `Create`, …, in the client's case
};

/// The functions of one database, stored in the catalog and deleted with the database. All calls may wait for the disk:
/// not for I/O threads. Thread-safe.
class ScriptStore {
 public:
  explicit ScriptStore(partitioning::Database& database) : database_(database) {}

  Expected<std::optional<Script>> find(ScriptKind kind, std::string_view id) const;
  /// In the order of their ids.
  Expected<std::vector<Script>> list(ScriptKind kind) const;
  /// Stores the result of `change`, which gets the current script (nullopt: none). Errors: those of `change`;
  /// bad_request if the id is too long.
  Expected<void> change(ScriptKind kind, std::string_view id,
                        FunctionRef<Expected<Script>(const std::optional<Script>& before)> change);
  /// Erases the script if `check` returns no error. Errors: those of `check`; not_found.
  Expected<void> erase(ScriptKind kind, std::string_view id, FunctionRef<Expected<void>(const Script& before)> check);

 private:
  partitioning::Database& database_;
};

/// The query::copy::Succession::carry of containers: stored procedures, triggers and functions that the target lacks.
Expected<void> carry_scripts(partitioning::Database& source, partitioning::Database& target);

/// Makes a program. Equal sources of one database share a world.
query::javascript::ProgramPtr program_of(const partitioning::Database& database, ScriptKind kind, std::string_view id,
                                         std::string source);

}  // namespace octavo::api::scripts

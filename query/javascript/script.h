#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "query/javascript/program.h"

/// Scripts are functions that read and write documents while they run: stored procedures and triggers, with Azure
/// Cosmos DB's server-side API (`getContext()`, `__`). Their programs have the kind `script` and one function. As in
/// functions.h, they run on the calling thread, which must be a worker, within the limits.
namespace octavo::query::javascript {

/// Reads and writes documents for a script. Called on the script's thread, while it waits.
class ScriptHost {
 public:
  enum class Operation : std::uint8_t { read, query, create, upsert, replace, remove };
  struct Request {
    Operation operation = Operation::read;
    std::string link;                         ///< read, replace, remove: the document's link
    std::string body;                         ///< create, upsert, replace: the document, JSON; query: its text
    std::string parameters;                   ///< query: JSON array, or empty
    std::optional<std::string> etag;          ///< replace, remove: precondition
    std::optional<std::string> continuation;  ///< query: where the page begins
    std::optional<std::uint64_t> page_size;   ///< query; nullopt: as many as fit
    bool makes_id = true;                     ///< create, upsert: generate an id for a document without one
  };
  struct Answer {
    bool accepted = true;                     ///< false: no time was left, and nothing was done
    int error = 0;                            ///< an HTTP status, for the script to handle; 0: no error
    std::string message;                      ///< the error's message
    std::string body;                         ///< JSON; empty: none
    std::optional<std::string> continuation;  ///< where a query's next page begins
  };
  virtual ~ScriptHost() = default;
  /// Errors end the script, which cannot catch them. An error that it can handle is in the Answer.
  virtual Expected<Answer> run(const Request& request) = 0;
};

struct ScriptCall {
  std::string_view parameters = "[]";  ///< JSON array: the function's arguments
  std::string_view self_link = {};     ///< the collection's
  std::string_view alt_link = {};
  std::string_view operation = {};      ///< `Create`, …: getOperationType(); empty: none
  std::string_view request_body = {};   ///< JSON; empty: none
  std::string_view response_body = {};  ///< JSON; empty: none
  bool has_response = true;             ///< triggers that run before their write have none
};

/// The result of a script that returned or threw an exception.
struct ScriptResult {
  std::string response;  ///< JSON text of the response's body; empty: none
  std::string request;   ///< JSON text of the request's body
  std::string log;       ///< output of console.log: lines, up to the limit
  /// An uncaught exception, or an error without a callback. `number`: the status in the thrown value; 0: none.
  struct Failure {
    std::string text;
    int number = 0;
  };
  std::optional<Failure> failure;
};

/// Errors: those of the host; for exceeded limits, with the word resource_limit: timeout, or function_stopped for
/// limits other than time.
Expected<ScriptResult> run_script(const ProgramPtr& program, ScriptHost& host, const ScriptCall& call);

/// Calls a function that has no API, only its arguments (a program of the kind `plain`). Arguments and result are JSON
/// texts, empty for undefined. May be called while a script of the same thread waits for its host. Errors:
/// function_failed, function_stopped.
Expected<std::string> call_function(const ProgramPtr& program, std::span<const std::string> arguments);

}  // namespace octavo::query::javascript

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "query/javascript/program.h"

/// Functions that work on documents while they run: stored procedures and triggers, with Azure Cosmos DB's server-side
/// API (`getContext()`, `__`). Their programs have the kind `script` and one function. As of functions.h, all run on
/// the calling thread, which must be one that may take long, within the limits.
namespace octavo::query::javascript {

/// What a script reads and writes. Called on the script's thread, while it waits.
class ScriptHost {
 public:
  enum class Operation : std::uint8_t { read, query, create, upsert, replace, remove };
  struct Request {
    Operation operation = Operation::read;
    std::string link;                         ///< read, replace, remove: of the document
    std::string body;                         ///< create, upsert, replace: the document, JSON; query: its text
    std::string parameters;                   ///< query: JSON array, or empty
    std::optional<std::string> etag;          ///< replace, remove: precondition
    std::optional<std::string> continuation;  ///< query: where the page begins
    std::optional<std::uint64_t> page_size;   ///< query; none: what fits
    bool makes_id = true;                     ///< create, upsert: an id for a document without one
  };
  struct Answer {
    bool accepted = true;                     ///< false: there is no time for it any more, and nothing was done
    int error = 0;                            ///< an HTTP status, for the script to deal with; 0: none
    std::string message;                      ///< of the error
    std::string body;                         ///< JSON; empty: nothing
    std::optional<std::string> continuation;  ///< of a query's next page
  };
  virtual ~ScriptHost() = default;
  /// An error of the call itself ends the script, which cannot catch it.
  virtual Expected<Answer> run(const Request& request) = 0;
};

struct ScriptCall {
  std::string_view parameters = "[]";  ///< JSON array: the function's arguments
  std::string_view self_link = {};     ///< of the collection
  std::string_view alt_link = {};
  std::string_view operation = {};      ///< `Create`, …: getOperationType(); empty: none
  std::string_view request_body = {};   ///< JSON; empty: none
  std::string_view response_body = {};  ///< JSON; empty: none
  bool has_response = true;             ///< triggers that run before their write have none
};

/// What a script that ended well, or by a throw of its own, left behind.
struct ScriptResult {
  std::string response;  ///< JSON text of the response's body; empty: it has none
  std::string request;   ///< of the request's
  std::string log;       ///< of console.log: lines, up to the limit
  /// Thrown and not caught, or an error without a callback. `number`: the status that the thrown value has; 0: none.
  struct Failure {
    std::string text;
    int number = 0;
  };
  std::optional<Failure> failure;
};

/// Errors: those of the host; with the word resource_limit: timeout, and function_failed for the other limits.
Expected<ScriptResult> run_script(const ProgramPtr& program, ScriptHost& host, const ScriptCall& call);

/// Calls a function of values only (a program of the kind `plain`). Arguments and result are JSON texts, empty for
/// undefined. May be called while a script of the same thread waits for its host. Errors: function_failed.
Expected<std::string> call_function(const ProgramPtr& program, std::span<const std::string> arguments);

}  // namespace octavo::query::javascript

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo::query::javascript {

/// Functions of one design document that run together in their own world: they share modules and globals only with each
/// other. Immutable, created once per version of the document, shared by all threads. Each thread compiles it at its
/// first use and keeps it in a bounded cache.
class Program {
 public:
  /// The API that the world offers in addition to the language itself.
  enum class Kind : std::uint8_t {
    design,     ///< CouchDB's helpers: emit, index, log, sum, require, …
    script,     ///< Azure Cosmos DB's server-side API: see script.h
    plain,      ///< nothing
    transform,  ///< nothing, and what changes by itself throws: see transform.h
  };
  struct Function {
    std::string name;    ///< for messages and logs: `_design/shop view by_price map`
    std::string source;  ///< an expression whose value is a function
  };

  /// `database`: tag of the database's incarnation; two databases never share a world, even if their functions are
  /// equal. `modules`: JSON text of the object in which `require` finds modules; empty: no `require`. Functions that
  /// see the whole design document (validate, filter, update) have it as `this`.
  Program(std::string_view database, std::vector<Function> functions, std::string modules, Kind kind = Kind::design);

  Kind kind() const { return kind_; }
  const std::vector<Function>& functions() const { return functions_; }
  const std::string& modules() const { return modules_; }
  /// Hash of all of the above.
  const std::string& identity() const { return identity_; }

 private:
  Kind kind_;
  std::vector<Function> functions_;
  std::string modules_;
  std::string identity_;
};

using ProgramPtr = std::shared_ptr<const Program>;

/// Compiles one function on this thread, to report errors before its first run. Errors: bad_request with the word
/// compilation_error; the reason is JavaScript's message and the line, followed by the source in parentheses.
Expected<void> check_function(std::string_view source);

}  // namespace octavo::query::javascript

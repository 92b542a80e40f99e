#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "query/javascript/program.h"

/// Calls of design functions. They run on the calling thread, which must be a worker because they may take long. Each
/// thread has its own JavaScript runtime, created at its first call (about 20 ms).
///
/// Every call is limited in time, heap, stack and output (settings `javascript_…`). Errors of all calls:
/// function_failed, with CouchDB's word and reason for the exception; function_stopped for an exceeded limit. The next
/// call then gets a new world. Documents are JSON texts with `_id` and `_rev`.
namespace octavo::query::javascript {

/// The major version of SpiderMonkey, which runs the functions.
std::string_view engine_version();

/// The rows that map functions emitted, as JSON text. Reused for the next document.
struct MapOutput {
  struct Row {
    std::uint32_t function = 0;  ///< index in Program::functions()
    std::uint32_t key_begin = 0, key_size = 0;
    std::uint32_t value_begin = 0, value_size = 0;
  };
  std::string text;
  std::vector<Row> rows;  ///< by function, in the order of emission

  std::string_view key(const Row& row) const { return std::string_view(text).substr(row.key_begin, row.key_size); }
  std::string_view value(const Row& row) const {
    return std::string_view(text).substr(row.value_begin, row.value_size);
  }
  void clear() {
    text.clear();
    rows.clear();
  }
};

/// Runs all functions of `program`, which are map functions, on one document; replaces `output`. If a function throws,
/// the exception is logged and it emits nothing for this document, as in CouchDB; an exceeded limit is an error.
Expected<void> map(const ProgramPtr& program, std::string_view document, MapOutput& output);

/// Calls a custom reduce function: `keys` is `[[key,id],…]` or `null`, `values` an array. Returns JSON text.
Expected<std::string> reduce(const ProgramPtr& program, std::size_t function, std::string_view keys,
                             std::string_view values, bool rereduce);

/// One call of `index(name, value, options)` in a search function.
struct IndexedField {
  std::string name;
  std::variant<std::string, double, bool> value;
  bool store = false;
  bool index = true;
  bool facet = false;
  double boost = 1.0;
};
/// Runs one search function on a document; replaces `fields`. An exception is logged and yields no fields.
Expected<void> index(const ProgramPtr& program, std::size_t function, std::string_view document,
                     std::vector<IndexedField>& fields);

/// Calls `validate_doc_update(newDoc, oldDoc, userCtx, secObj)`. Errors: forbidden and unauthorized with the thrown
/// reason; any other exception is function_failed (`unknown_error`, or the kind of JavaScript's own errors).
Expected<void> validate(const ProgramPtr& program, std::size_t function, std::string_view new_document,
                        std::optional<std::string_view> old_document, std::string_view user_context,
                        std::string_view security);

/// Runs a filter of a change feed: one answer per document. The time limit applies to each document separately.
Expected<std::vector<bool>> filter(const ProgramPtr& program, std::size_t function,
                                   std::span<const std::string_view> documents, std::string_view request);
/// Runs a map function as a filter: for each document, whether it emits anything.
Expected<std::vector<bool>> emits(const ProgramPtr& program, std::size_t function,
                                  std::span<const std::string_view> documents);

/// Calls an update function with a document (nullopt if it does not exist) and a request. Errors: also function_failed
/// `render_error` for a result without a response.
struct UpdateResult {
  std::optional<std::string> document;  ///< JSON text to store; nullopt: store nothing
  std::string response;                 ///< JSON text: an object with code, headers, body, json, base64; or a string
};
Expected<UpdateResult> update(const ProgramPtr& program, std::size_t function, std::optional<std::string_view> document,
                              std::string_view request);

}  // namespace octavo::query::javascript

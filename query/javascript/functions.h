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

/// Calls of design functions. All run on the calling thread, which must be one that may take long (a worker): each
/// thread has a JavaScript runtime of its own, made at the first call (about 20 ms).
///
/// Every call is bounded in time, heap, stack and output (settings `javascript_…`). Errors of all: function_failed,
/// with the word and reason the dialect has for it: what the function threw, or which limit it exceeded
/// (`resource_limit`); then the function's world is made anew for the next call. Documents are JSON texts with `_id`
/// and `_rev`.
namespace octavo::query::javascript {

/// What map functions emitted, as JSON text; reused from document to document.
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

/// Runs all functions of `program`, which are map functions, over one document; replaces `output`. A function that
/// throws is logged and emits nothing for this document, as in CouchDB; an exceeded limit is an error.
Expected<void> map(const ProgramPtr& program, std::string_view document, MapOutput& output);

/// A custom reduce: `keys` is `[[key,id],…]` or `null`, `values` an array. JSON text of the result.
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
/// Runs one search function over a document; replaces `fields`. A throw is logged and gives no fields.
Expected<void> index(const ProgramPtr& program, std::size_t function, std::string_view document,
                     std::vector<IndexedField>& fields);

/// `validate_doc_update(newDoc, oldDoc, userCtx, secObj)`. Errors: forbidden and unauthorized with the reason thrown;
/// anything else thrown is function_failed (`unknown_error`, or the word for JavaScript's own errors).
Expected<void> validate(const ProgramPtr& program, std::size_t function, std::string_view new_document,
                        std::optional<std::string_view> old_document, std::string_view user_context,
                        std::string_view security);

/// A filter of a change feed: one answer per document. Each document has the time of a call.
Expected<std::vector<bool>> filter(const ProgramPtr& program, std::size_t function,
                                   std::span<const std::string_view> documents, std::string_view request);
/// A map function as a filter: whether it emits anything for each document.
Expected<std::vector<bool>> emits(const ProgramPtr& program, std::size_t function,
                                  std::span<const std::string_view> documents);

/// An update function: what it makes of a document (nullopt: there is none) and a request. Errors: also function_failed
/// `render_error` for a result without a response.
struct UpdateResult {
  std::optional<std::string> document;  ///< JSON text to be stored; nullopt: nothing
  std::string response;                 ///< JSON text: an object with code, headers, body, json, base64; or a string
};
Expected<UpdateResult> update(const ProgramPtr& program, std::size_t function, std::optional<std::string_view> document,
                              std::string_view request);

}  // namespace octavo::query::javascript

#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "query/javascript/program.h"
#include "query/view/view_key.h"

namespace octavo::query::views {

/// The reduce function of a view: CouchDB's built-in ones, or JavaScript.
///
/// Reductions of rows are stored as *states*, in a format private to the reducer.
///
/// Format (states of reducers):
///   _count                           varint
///   _approx_count_distinct           registers (distinct_estimate.h)
///   _sum, _stats, _top_N, _bottom_N, _first, _last, a JavaScript function: JSON text of the reduction
///
/// States can be merged, in the order of
/// their rows; finish() turns a state into the value that a client sees. An error in the rows (a `_sum` of strings, a
/// reduction that does not shrink) is part of the state: it does not keep the index from being built, and only a query
/// for this reduction reports it.
///
/// Immutable, thread-safe. Errors: function_stopped, from JavaScript reduce functions.
class Reducer {
 public:
  virtual ~Reducer() = default;

  /// True if calls may take long and must therefore run on a worker.
  virtual bool runs_functions() const { return false; }
  /// Precondition: at least one row.
  virtual Expected<std::string> reduce(std::span<const ViewRow> rows) const = 0;
  /// Precondition: at least one state.
  virtual Expected<std::string> merge(std::span<const std::string_view> states) const = 0;
  /// JSON text of the value. Errors: function_failed with CouchDB's error word if the reduction is invalid.
  virtual Expected<std::string> finish(std::string_view state) const = 0;
};

/// The reducer for `source`. `program` and `function` are its compiled form, unused for built-in functions.
/// Errors: bad_request (invalid_design_doc) for an unknown built-in function.
Expected<std::unique_ptr<Reducer>> make_reducer(std::string_view source, javascript::ProgramPtr program,
                                                std::size_t function);

/// Whether `source` names a built-in function, known or not.
inline bool is_built_in(std::string_view source) {
  return source.starts_with('_');
}
/// Checks that a design document may have `source` as a reduce function. Errors have CouchDB's error words.
Expected<void> check_reduce(std::string_view source);

/// The reason in CouchDB's `reduce_overflow_error` object, which replaces a JavaScript reduction that did not shrink;
/// nullopt for any other value.
std::optional<std::string> overflow_reason(std::string_view value);

}  // namespace octavo::query::views

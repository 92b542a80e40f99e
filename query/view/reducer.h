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
/// Reductions of rows are kept as *states* (bytes of the reducer's own), which can be merged; a state becomes the value
/// that a client sees by finish(). States of neighbouring rows are merged in the order of the rows. What the rows do
/// wrong (a `_sum` of strings, a reduction that does not shrink) is part of the state: it must not keep an index from
/// being built, only those who ask for the reduction see it.
///
/// Immutable, thread-safe. Errors: function_failed (resource_limit) of JavaScript reduces.
class Reducer {
 public:
  virtual ~Reducer() = default;

  /// True when calls may take long, and so must be made on a thread that may.
  virtual bool runs_functions() const { return false; }
  /// At least one row.
  virtual Expected<std::string> reduce(std::span<const ViewRow> rows) const = 0;
  /// At least one state.
  virtual Expected<std::string> merge(std::span<const std::string_view> states) const = 0;
  /// JSON text of the value. Errors: function_failed with CouchDB's word, where the reduction makes no sense.
  virtual Expected<std::string> finish(std::string_view state) const = 0;
};

/// The reducer of `source`. `program` and `function`: its compiled form, unless it is built in.
/// Errors: bad_request (invalid_design_doc) for an unknown built-in function.
Expected<std::unique_ptr<Reducer>> make_reducer(std::string_view source, javascript::ProgramPtr program,
                                                std::size_t function);

/// Whether `source` names a built-in function, or means to.
inline bool is_built_in(std::string_view source) {
  return source.starts_with('_');
}
/// Whether a design document may have `source` as a reduce function, with CouchDB's words.
Expected<void> check_reduce(std::string_view source);

/// A reduction of JavaScript that did not shrink is this object, as in CouchDB; nullopt: it did.
std::optional<std::string> overflow_reason(std::string_view value);

}  // namespace octavo::query::views

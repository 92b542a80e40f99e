#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>
#include <simdjson.h>

#include "base/error.h"
#include "query/json/field_path.h"
#include "query/selector/field_constraint.h"

namespace octavo::query {

/// Limits of a client's selector; beyond them it is rejected with bad_request.
inline constexpr int selector_depth_max = 64;                ///< nesting of operators and fields
inline constexpr std::size_t selector_nodes_max = 16'384;    ///< total of conditions and combinations
inline constexpr std::size_t selector_listed_max = 100'000;  ///< total of values in `$in`, `$nin` and `$all`

enum class Operator : std::uint8_t {
  less,
  less_equal,
  equal,
  not_equal,
  greater_equal,
  greater,
  in,
  not_in,
  exists,
  type,
  size,
  modulo,
  regex,
  begins_with,
  all,
  element_match,
  all_match,
  key_map_match,
};
/// `$lt`, `$keyMapMatch`, …
std::string_view operator_name(Operator op);

class CompiledRegex;

/// A node of a normalised selector. Immutable once it is part of a Selector.
///
/// Above element operators, negations have been pushed down as Mango does, so only `everything`, `conjunction`,
/// `disjunction` and `comparison` occur there; `negation` and `joint_denial` ($nor) occur only inside the sub-selector
/// of an element operator (`$elemMatch`, `$allMatch`, `$keyMapMatch`), whose paths start at the element.
struct SelectorNode {
  enum class Kind : std::uint8_t {
    everything,    ///< `{}`
    conjunction,   ///< children
    disjunction,   ///< children; without any it matches everything, as in Mango
    negation,      ///< one child
    joint_denial,  ///< none of the children
    comparison,    ///< path, op, argument, negated; for an element operator the sub-selector is the one child
  };
  Kind kind = Kind::everything;
  std::vector<SelectorNode> children;

  FieldPath path;  ///< empty: the value itself (as in `{"$elemMatch": {"$gt": 5}}`)
  Operator op = Operator::equal;
  bool negated = false;  ///< `{"path": {"$not": {op: argument}}}`: the field must exist and `op` not hold
  boost::json::value argument;
  bool is_raw_order = false;  ///< compare by bytes: `_id`, and anything below it
  /// A sorted copy of long `$in` and `$nin` lists, for binary search.
  std::vector<boost::json::value> sorted_arguments;
  std::shared_ptr<const CompiledRegex> compiled_regex;
};

/// One document to test. `_id`, `_rev`, `_deleted` and `_attachments` are fields too, though not in the stored body.
struct SelectorSubject {
  simdjson::dom::element body;  ///< an object
  std::string_view id;
  std::string_view rev;
  bool deleted = false;  ///< shows as `_deleted: true`; absent otherwise
  std::optional<simdjson::dom::element> attachments;
};

/// A Mango selector, parsed, normalised and compiled once, then run over many documents.
///
/// Semantics are exactly CouchDB 3.5's, including corner cases: a condition on an absent field never matches, except
/// `$exists: false` (so `$ne` and `$nin` need the field); `$in` on an array tests its elements; values of different
/// types are compared by view collation; `_id` is compared by bytes; `$and`, `$or`, `$nor` of `[]` match everything,
/// `$all: []` nothing. Intended differences: a regular expression that reaches a limit (see CompiledRegex) does not
/// match; `$mod` by 0 is rejected at once; `$nor` works inside `$elemMatch`. `$text` is rejected as unsupported.
///
/// Immutable and thread-safe; copying shares the tree. `matches` takes well under a microsecond and does not allocate,
/// except for regular expressions.
class Selector {
 public:
  /// Matches everything, as `{}` does.
  Selector();

  /// Errors: bad_request with Mango's text ("Invalid operator: $foo"), whose short name `mango_error_name` returns;
  /// unsupported for `$text`.
  static Expected<Selector> parse(const boost::json::value& json);

  /// The selector with this tree, which must be normalised and within the limits.
  static Selector of(SelectorNode root);

  /// Matches the documents that both match.
  static Selector both(const Selector& a, const Selector& b);

  bool matches(const SelectorSubject& subject) const;
  bool matches(simdjson::dom::element body, std::string_view id, std::string_view rev) const;

  const SelectorNode& root() const { return *root_; }

  /// The root's conjuncts, with nested `$and`s flattened; the root itself if it is not a conjunction; empty for `{}`.
  std::vector<const SelectorNode*> conjuncts() const;

  /// What matching documents must have at `path`. A field the selector does not mention is unconstrained and exact. Of
  /// very many conditions on one field, only the first ones are used, and the result is not exact.
  FieldConstraint constraint_for(const FieldPath& path) const;
  /// The same for another order of strings than Mango's: the constraint if the selector is interpreted in that order.
  FieldConstraint constraint_for(const FieldPath& path, BoundOrder order) const;

  /// Arrays that must have an element that meets conditions (`$elemMatch`, `$all`), each with a path in the element
  /// that is tested; the empty path is the element itself. `{"$all": [[1, 2]]}` is not included: the array may be [1,
  /// 2] itself.
  std::vector<std::pair<FieldPath, FieldPath>> element_paths() const;
  /// What some element of `array` must have at `below`. Never exact.
  FieldConstraint constraint_for_elements(const FieldPath& array, const FieldPath& below, BoundOrder order) const;

  /// The distinct paths the selector reads from the document's root, in order of first use (`_id` and `_rev` included).
  const std::vector<FieldPath>& fields_used() const { return fields_; }

  /// True if a condition tests the document as a whole, so no set of fields suffices to evaluate the selector.
  bool needs_whole_document() const { return needs_whole_document_; }

  /// True if every document that this selector matches is certainly matched by `filter`, too. Conservative: false may
  /// mean "unknown". Decides whether a partial index (`partial_filter_selector`) contains all that a query may find.
  bool implies(const Selector& filter) const;

  /// The normalised selector as CouchDB prints it in `_explain`: `{"userid":{"$eq":"x"}}`, `{"$and":[…]}`.
  boost::json::value to_json() const;

 private:
  std::shared_ptr<const SelectorNode> root_;
  std::vector<FieldPath> fields_;
  bool needs_whole_document_ = false;
};

/// CouchDB's short name (`"error"` in its reply) for an error of `Selector::parse`: `bad_arg`, `invalid_operator`,
/// `invalid_selector`, … ; `bad_request` if CouchDB has no name for it.
std::string_view mango_error_name(const Error& error);

}  // namespace octavo::query

#pragma once

#include <vector>

#include <boost/json.hpp>

#include "base/error.h"
#include "query/json/field_path.h"
#include "query/selector/selector.h"

namespace octavo::query {

/// Makes selectors of conditions, without Mango's notation between: for other query languages, and for the planner.
///
/// A condition is a node of a normalised selector, so there are no negations except as operators.
class SelectorBuilder {
 public:
  /// `path op argument`. The empty path is an array's element itself, inside `some_element`. Not for operators that the
  /// parser prepares: `in`, `not_in`, `regex`, and those that take a selector.
  static SelectorNode compare(FieldPath path, Operator op, boost::json::value argument);
  /// `array` is an array, and `condition`, whose paths begin at its elements, holds for one of them.
  static SelectorNode some_element(FieldPath array, SelectorNode condition);
  /// At least one condition each.
  static SelectorNode all_of(std::vector<SelectorNode> conditions);
  static SelectorNode any_of(std::vector<SelectorNode> conditions);

  /// Errors: bad_request if it exceeds a limit of selectors. Here combinations do not count as conditions; a comparison
  /// counts as two (a field and an operator), as when it is parsed.
  static Expected<Selector> build(SelectorNode root);
};

}  // namespace octavo::query

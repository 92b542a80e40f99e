#pragma once

#include <memory>

#include "query/view/reducer.h"

namespace octavo::query::views {

/// `_sum` by CouchDB's rules: adds numbers, arrays of numbers element by element, and objects member by member. The
/// state is the sum as JSON text.
std::unique_ptr<Reducer> make_sum_reducer();

/// `_stats`: sum, count, min, max and sum of squares of numbers; of arrays, element by element. Objects with these
/// members count as statistics computed earlier. The state is JSON text.
std::unique_ptr<Reducer> make_stats_reducer();

}  // namespace octavo::query::views

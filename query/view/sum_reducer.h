#pragma once

#include <memory>

#include "query/view/reducer.h"

namespace octavo::query::views {

/// `_sum`: numbers, arrays of numbers place by place, objects member by member; by CouchDB's rules. The state is the
/// sum as JSON text.
std::unique_ptr<Reducer> make_sum_reducer();

/// `_stats`: sum, count, min, max and sum of squares of numbers, arrays place by place; objects with these members are
/// taken for statistics made before. The state is JSON text.
std::unique_ptr<Reducer> make_stats_reducer();

}  // namespace octavo::query::views

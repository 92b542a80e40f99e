#pragma once

#include <string_view>

#include "query/sql/evaluate/evaluation.h"

namespace octavo::query::sql {

/// Whether the text matches a LIKE pattern: `%` any characters, `_` one, `[abc]`, `[a-f]` one of a set, `[^abc]` one
/// outside it. Counts its retries as steps, and what it reads as work.
bool is_like(Evaluation& evaluation, std::string_view text, std::string_view pattern, std::string_view escape);

}  // namespace octavo::query::sql

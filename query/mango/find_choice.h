#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "base/task.h"
#include "query/follow/feed_indexes.h"
#include "query/index/catalog/mango_indexes.h"
#include "query/mango/prepared_find.h"
#include "query/mango/text_find.h"

namespace octavo::query {

/// How a `_find` is answered: by plans over documents and their indexes, or by a text index.
using FindChoice = std::variant<std::shared_ptr<const PreparedFind>, search::TextFind>;

/// Parses and plans a `_find` as prepare_find does, with the text indexes as further candidates. One of them answers
/// the request if it uses `$text`, names a text index, continues from a bookmark of one, or would otherwise be answered
/// without an index. Errors: those of prepare_find and plan_text_find.
Task<Expected<FindChoice>> choose_find(MangoIndexes& indexes, FeedIndexes& feed_indexes, std::string_view body,
                                       std::string partition_key, bool explain);

}  // namespace octavo::query

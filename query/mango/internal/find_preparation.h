#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/task.h"
#include "partitioning/database.h"
#include "partitioning/engine.h"
#include "query/index/catalog/mango_indexes.h"
#include "query/mango/find_request.h"
#include "query/mango/prepared_find.h"
#include "query/plan/plan_request.h"

namespace octavo::query {

/// Runs `work`, which parses or plans a request; on a worker if the request is long.
template <class Work>
Task<std::invoke_result_t<Work&>> work_on_find(partitioning::Database& database, std::size_t body_bytes, Work work) {
  if (body_bytes <= inline_query_bytes_max) co_return work();
  co_return co_await database.engine().workers().run_patiently(std::move(work));
}

/// The steps of prepare_find.
class FindPreparation {
 public:
  /// The arguments are those of prepare_find; `body` must outlive this.
  FindPreparation(MangoIndexes& indexes, std::string_view body, std::string partition_key, bool explain,
                  bool ignore_global);

  /// The plans of an earlier equal request. Null if none are kept, or if the number of documents has changed much
  /// since. If the URL names a logical partition, the request that they have may name another one.
  std::shared_ptr<const PreparedFind> earlier() const;
  Task<Expected<FindRequest>> parse() const;
  /// Plans the parsed request and keeps the result for equal requests.
  Task<Expected<std::shared_ptr<const PreparedFind>>> plan(FindRequest request) const;

 private:
  const std::shared_ptr<partitioning::Database> database_;
  MangoIndexes& indexes_;
  const std::string_view body_;
  const std::string partition_key_;
  const bool explain_;
  const bool ignore_global_;
  const Expected<std::shared_ptr<const IndexCatalog>> catalog_;
  std::string cache_key_;  ///< empty: the result is neither looked up nor kept
};

}  // namespace octavo::query

#pragma once

#include <memory>
#include <utility>

#include "query/sql/run/sql_preparation.h"
#include "query/walk/plan_indexes.h"

namespace octavo::query::sql {

/// Returns `prepared` once the global indexes of its plans contain everything that was written before now. If they
/// cannot be updated, because the disk is full or fails, returns what `prepare` makes without them: the documents can
/// still be read.
///
/// `prepare(SqlPlanning)` returns a task like prepare_sql's; it must outlive this task. Errors: those of both.
template <class Prepare>
Task<Expected<std::shared_ptr<const PreparedSql>>> wait_for_indexes(MangoIndexes& indexes,
                                                                    std::shared_ptr<const PreparedSql> prepared,
                                                                    const Prepare& prepare) {
  Expected<void> current;
  for (const Plan& plan : prepared->plans) {
    current = co_await query::wait_for_indexes(indexes, std::shared_ptr<const Plan>(prepared, &plan));
    if (!current) break;
  }
  if (current) co_return prepared;
  const ErrorCode code = current.error().code;
  if (code == ErrorCode::disk_full || code == ErrorCode::io_failure) {
    auto without = co_await prepare(SqlPlanning{.explain = false, .ignore_global = true});
    if (without) co_return without;
  }
  co_return std::unexpected(current.error());
}

}  // namespace octavo::query::sql

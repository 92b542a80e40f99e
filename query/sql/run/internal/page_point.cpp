#include "query/sql/run/internal/page_point.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "query/index/automatic_index.h"
#include "query/sql/evaluate/program.h"

namespace octavo::query::sql {

namespace {

// Here the plan has one branch, an index. If the condition leaves one value, it is read upwards even for DESC.
std::uint64_t direction_of(const Plan& plan) {
  return plan.descending ? 1 : 0;
}

const std::string& identity_in_order(const Plan& plan) {
  return plan.branches[0].index->definition->identity;
}

}  // namespace

Continuation point_after(const PreparedSql& prepared, const Plan& by, const ReadingPoint& last) {
  Continuation point;
  if (last.partition_id) point.partition_id_plus_one = *last.partition_id + 1;
  point.key = last.key;
  point.branch = last.branch;
  if (!prepared.query->program().reads_items) return point;
  const auto& branches = by.branches;
  if (const auto& index = branches[last.branch].index) {
    point.kind = Continuation::Kind::index;
    const IndexDefinition& definition = *index->definition;
    point.identity = definition.identity;
    const auto gone = GoneIndex::of(definition, by.descending);
    if (gone && (!gone->is_json || branches.size() == 1)) {
      point.kind = Continuation::Kind::automatic;
      point.start = gone->to_text();
    }
  }
  if (branches.size() > 1) point.kind = Continuation::Kind::combined;
  return point;
}

std::optional<Continuation> point_by_index(const GoneIndex& index, std::string entry) {
  if (!index.has_absences || !index.down || index.is_part()) return std::nullopt;
  Continuation point;
  point.kind = Continuation::Kind::automatic;
  point.identity = complete_path_identity(index.fields.front().path);
  point.start = index.to_text();
  point.key = std::move(entry);
  return point;
}

bool may_read_in_runs(const PreparedSql& prepared) {
  const auto& branches = prepared.plan().branches;
  return prepared.presorted && branches.size() == 1 && branches[0].index && !branches[0].index->global;
}

bool continues_in_order(const PreparedSql& prepared) {
  const auto& before = prepared.continuation;
  return before && before->kind == Continuation::Kind::ordered &&
         before->identity == identity_in_order(prepared.plan()) && before->branch == direction_of(prepared.plan());
}

Continuation point_in_order(const PreparedSql& prepared, std::string key, std::string start) {
  Continuation point;
  point.key = std::move(key);
  begin_at(prepared, std::move(start), point);
  return point;
}

void begin_at(const PreparedSql& prepared, std::string start, Continuation& next) {
  next.kind = Continuation::Kind::ordered;
  next.identity = identity_in_order(prepared.plan());
  next.start = std::move(start);
  next.branch = direction_of(prepared.plan());
}

std::uint64_t spent_before(const PreparedSql& prepared, double spent) {
  constexpr double spent_max = 1e9;  // RU; more than any bound
  return prepared.plans.size() < 2 ? 0 : static_cast<std::uint64_t>(std::ceil(std::min(spent, spent_max) * 100));
}

}  // namespace octavo::query::sql

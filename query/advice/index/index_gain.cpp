#include "query/advice/index/index_gain.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "partitioning/throughput/request_charge.h"
#include "query/advice/value_growth.h"
#include "query/index/automatic_index.h"
#include "query/plan/charge_estimate.h"

namespace octavo::query::advice {

namespace {

// The shapes that cost most; the others cost too little to decide.
constexpr std::size_t shapes_planned_max = 64;

/// A shape that is planned again and again.
struct PlannedShape {
  const RecordedShape* shape = nullptr;
  IndexCatalog relevant;  ///< the present indexes that could serve it
  double per_day = 0;
  std::optional<double> matches;
  std::uint64_t wanted = 0;    ///< matches that such a query needs: of the first one, or more if the others had more
  std::size_t partitions = 1;  ///< physical partitions visited, in the mean
  double now = 0;
  double estimated = 0;  ///< by the planner, with the same indexes as `now`
};

/// How a shape would be run.
struct PricedPlan {
  double charge = 0;
  std::vector<std::string> identities;
  bool sorts_in_memory = false;
  bool tests_documents = false;
  RowSource source = RowSource::recorded;

  bool uses(const IndexProposal& proposal) const {
    return std::ranges::find(identities, proposal.identity()) != identities.end();
  }
};

std::set<FieldPath> paths_of(const PlanRequest& request) {
  const auto& used = request.selector.fields_used();
  std::set<FieldPath> paths(used.begin(), used.end());
  if (request.ordinal) paths.insert(request.ordinal->fields_used().begin(), request.ordinal->fields_used().end());
  for (const OrderedField& field : request.sort) paths.insert(field.path);
  for (const FieldPath& path : request.fields) paths.insert(path);
  return paths;
}

// An index serves a query only by its first field, or by its filter.
bool may_serve(const IndexDefinition& index, const std::set<FieldPath>& paths) {
  return index.partial_filter || paths.contains(index.fields[0].path);
}

IndexCatalog relevant_part(const IndexCatalog& catalog, const std::set<FieldPath>& paths) {
  IndexCatalog part;
  part.automatic = catalog.automatic;
  part.assumes_absences = true;  // queries get them when they need them
  for (const IndexView& view : catalog.indexes) {
    if (may_serve(*view.definition, paths)) part.indexes.push_back(view);
  }
  return part;
}

bool is_in_one_place(const Branch& branch) {
  return branch.index && !branch.index->definition->automatic && !branch.index->definition->partitioned;
}

partitioning::ScanWork work_of(const Plan& plan, const QueryOutline& outline, std::size_t partitions) {
  partitioning::ScanWork work;
  const bool is_global = !plan.branches.empty() && std::ranges::all_of(plan.branches, is_in_one_place);
  work.partitions = outline.in_logical_partition || is_global ? 1 : partitions;
  for (const Branch& branch : plan.branches) {
    work.predicates += branch.selector.fields_used().size() + outline.sort_properties;
  }
  return work;
}

Expected<PricedPlan> price(const PlannedShape& planned, const IndexCatalog& catalog, const ScannedDocuments& scanned) {
  const QueryOutline& outline = *planned.shape->outline;
  ShapeStatistics statistics(scanned, outline, planned.matches);
  PlannerScope scope;
  scope.partition_query = outline.in_logical_partition;
  if (!catalog.indexes.empty()) {
    const auto& ids = catalog.indexes.front().partition_ids;
    if (!ids.empty()) scope.partition_id = ids.front();
  }
  if (catalog.automatic && !catalog.automatic->partition_ids.empty()) {
    scope.partition_id = catalog.automatic->partition_ids.front();
  }
  OCTAVO_TRY(const PlannerResult result, plan_query(*outline.plan, catalog, scope, statistics));
  const Plan& sure = result.plans[result.sure];
  OCTAVO_TRY(const auto documents, statistics.documents());
  const storage::DocumentStatistics whole{
      .document_count = documents.count,
      .external_bytes = static_cast<std::uint64_t>(documents.average_bytes * static_cast<double>(documents.count))};
  statistics.take_source();
  OCTAVO_TRY(const auto estimate, estimate_charge(result.plans, result.sure, statistics, whole, planned.wanted,
                                                  outline.reads_all, work_of(sure, outline, planned.partitions)));
  PricedPlan priced;
  priced.charge = estimate.charge;
  priced.source = statistics.take_source();
  priced.sorts_in_memory = sure.sort_in_memory;
  const auto tests = [](const Branch& branch) { return branch.recheck; };
  priced.tests_documents = std::ranges::any_of(sure.branches, tests);
  for (const Plan& plan : result.plans) {
    for (const Branch& branch : plan.branches) {
      if (branch.index) priced.identities.emplace_back(index_of_path(branch.index->definition->identity));
      for (const LeapStream& leap : branch.leaps) priced.identities.push_back(leap.index.definition->identity);
    }
  }
  return priced;
}

std::vector<PlannedShape> shapes_to_plan(const GainTerms& terms) {
  std::vector<PlannedShape> all;
  const double days = static_cast<double>(std::max<std::int64_t>(1, terms.recorded.seconds())) / seconds_per_day;
  for (const RecordedShape& shape : terms.recorded.shapes) {
    if (!shape.outline->plan || shape.outline->plan->matches_nothing) continue;
    const ChargeWindow total = shape.total();
    if (total.count == 0) continue;
    PlannedShape planned;
    planned.shape = &shape;
    const auto count = static_cast<double>(total.count);
    planned.per_day = count / days;
    planned.now = total.request_units / count;
    const auto results = static_cast<std::uint64_t>(std::llround(static_cast<double>(total.results) / count));
    planned.wanted = std::max(shape.outline->matches_needed, results);
    if (total.seen_whole > 0) {
      planned.matches = static_cast<double>(total.matches) / static_cast<double>(total.seen_whole);
    }
    planned.partitions = static_cast<std::size_t>(
        std::clamp<long long>(std::llround(static_cast<double>(total.partitions) / count), 1,
                              static_cast<long long>(std::max<std::size_t>(1, terms.physical_partitions))));
    all.push_back(std::move(planned));
  }
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.per_day * a.now > b.per_day * b.now; });
  if (all.size() > shapes_planned_max) all.resize(shapes_planned_max);
  for (PlannedShape& planned : all) {
    planned.relevant = relevant_part(*terms.present.catalog, paths_of(*planned.shape->outline->plan));
  }
  return all;
}

/// Chooses one proposal after the other.
class Choice {
 public:
  Choice(const GainTerms& terms, std::vector<PlannedShape> shapes) : terms_(terms), shapes_(std::move(shapes)) {}

  Expected<std::vector<IndexGain>> run(std::size_t max) {
    for (PlannedShape& planned : shapes_) {
      // A shape that cannot be planned, because the index that it names is gone, gains nothing.
      const auto priced = price(planned, catalog_of(planned, {}), terms_.scanned);
      planned.estimated = priced ? priced->charge : 0;
    }
    std::vector<IndexGain> gains;
    while (gains.size() < max) {
      std::optional<IndexGain> best;
      for (std::size_t i = 0; i < terms_.proposals.size(); ++i) {
        if (std::ranges::find(chosen_, &terms_.proposals[i]) != chosen_.end()) continue;
        IndexGain gain = gain_of(i);
        if (!best || gain.saves_per_day > best->saves_per_day) best = std::move(gain);
      }
      if (!best || best->saves_per_day <= terms_.writes.costs_per_day()) break;
      take(*best);
      gains.push_back(*std::move(best));
    }
    return gains;
  }

 private:
  IndexCatalog catalog_of(const PlannedShape& planned, std::span<const IndexProposal* const> proposals) const {
    PresentIndexes part = terms_.present;
    part.catalog = std::make_shared<const IndexCatalog>(planned.relevant);
    return catalog_with(part, proposals);
  }

  IndexGain gain_of(std::size_t number) const {
    const IndexProposal& proposal = terms_.proposals[number];
    std::vector<const IndexProposal*> with = chosen_;
    with.push_back(&proposal);
    IndexGain gain;
    gain.proposal = number;
    for (const PlannedShape& planned : shapes_) {
      const QueryOutline& outline = *planned.shape->outline;
      const bool has_scope =
          proposal.kind != IndexProposal::Kind::json || proposal.partitioned == outline.in_logical_partition;
      if (!has_scope || !paths_of(*outline.plan).contains(proposal.fields[0].path)) continue;
      const auto priced = price(planned, catalog_of(planned, with), terms_.scanned);
      // Both must be better than now: what was recorded, and what the planner says of the same.
      if (!priced || !priced->uses(proposal) || priced->charge >= std::min(planned.now, planned.estimated)) continue;
      ServedShape served;
      served.shape = planned.shape;
      served.now = planned.now;
      served.then = priced->charge;
      served.saves_per_day = planned.per_day * (planned.now - priced->charge);
      served.sorts_in_memory = priced->sorts_in_memory;
      served.tests_documents = priced->tests_documents;
      served.source = priced->source;
      gain.saves_per_day += served.saves_per_day;
      gain.serves.push_back(served);
    }
    std::ranges::stable_sort(gain.serves,
                             [](const auto& a, const auto& b) { return a.saves_per_day > b.saves_per_day; });
    return gain;
  }

  void take(const IndexGain& gain) {
    chosen_.push_back(&terms_.proposals[gain.proposal]);
    for (const ServedShape& served : gain.serves) {
      const auto planned = std::ranges::find(shapes_, served.shape, &PlannedShape::shape);
      planned->now = served.then;
      planned->estimated = served.then;
    }
  }

  const GainTerms& terms_;
  std::vector<PlannedShape> shapes_;
  std::vector<const IndexProposal*> chosen_;
};

}  // namespace

double WriteRate::costs_per_day() const {
  static const double price =
      partitioning::charge_of_write({.index_rows = 1}) - partitioning::charge_of_write({.index_rows = 0});
  return per_day * rows * price;
}

Expected<std::vector<IndexGain>> choose_indexes(const GainTerms& terms, std::size_t max) {
  return Choice(terms, shapes_to_plan(terms)).run(max);
}

void expect_values(ValueStatistics& values, std::span<const RecordedShape> shapes, const PresentIndexes& present,
                   std::span<const IndexProposal> proposals) {
  std::vector<const IndexProposal*> all;
  for (const IndexProposal& proposal : proposals) all.push_back(&proposal);
  const IndexCatalog catalog = catalog_with(present, all);
  for (const RecordedShape& shape : shapes) {
    const auto& request = shape.outline->plan;
    if (!request) continue;
    ShapeStatistics::expect(values, *shape.outline);
    const auto paths = paths_of(*request);
    const Selector* const ordinal = request->ordinal ? &*request->ordinal : nullptr;
    const auto expect = [&](const IndexDefinition& index) {
      if (!may_serve(index, paths)) return;
      ShapeStatistics::expect(values, index, bounds_for(index, request->selector, request->sort, ordinal),
                              shape.outline->in_logical_partition);
    };
    for (const IndexView& view : catalog.indexes) expect(*view.definition);
    if (!catalog.automatic) continue;
    const AutomaticIndexPtr& automatic = catalog.automatic->definition->automatic;
    for (const FieldPath& path : paths) {
      if (automatic->covers(path)) expect(*automatic_path_definition(automatic, path));
    }
    for (std::size_t i = 0; i < automatic->composites().size(); ++i) {
      expect(*automatic_composite_definition(automatic, i));
    }
  }
}

}  // namespace octavo::query::advice

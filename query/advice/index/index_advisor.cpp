#include "query/advice/index/index_advisor.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "partitioning/keys/partition_key.h"
#include "query/advice/value_growth.h"
#include "query/index/automatic_index.h"
#include "query/index/index_entry.h"

namespace octavo::query::advice {

namespace {

// The entries of the first documents are made, and then those of each 64th.
constexpr std::uint64_t measured_first = 1'000;
constexpr std::uint64_t measured_each = 64;
// What a row of a tree takes beside its key and value.
constexpr std::uint64_t row_overhead_bytes = 16;
constexpr std::uint64_t path_bytes = 8;

StringOrder order_of(const PresentIndexes& present) {
  const auto& automatic = present.catalog->automatic;
  return automatic ? automatic->definition->automatic->order() : StringOrder::bytes;
}

}  // namespace

Expected<std::unique_ptr<IndexAdvisor>> IndexAdvisor::start(std::shared_ptr<partitioning::Database> database,
                                                            IndexAdvisorInput input) {
  OCTAVO_TRY(AdvisorTurn turn, AdvisorTurn::take());
  return std::unique_ptr<IndexAdvisor>(new IndexAdvisor(std::move(turn), std::move(database), std::move(input)));
}

IndexAdvisor::IndexAdvisor(AdvisorTurn turn, std::shared_ptr<partitioning::Database> database, IndexAdvisorInput input)
    : turn_(std::move(turn)),
      database_(std::move(database)),
      input_(std::move(input)),
      proposals_(propose_indexes(input_.recorded.shapes, input_.present)),
      scan_(*database_, {}),
      entry_bytes_(proposals_.size()) {
  OCTAVO_ASSERT(input_.max <= advices_max);
  if (database_->partitioned()) values_.expect({}, true);
  expect_values(values_, input_.recorded.shapes, input_.present, proposals_);
}

Expected<void> IndexAdvisor::take(const storage::DocumentView& document) {
  OCTAVO_TRY(const auto body, parser_.parse(document.body));
  bytes_ += document.id.size() + document.body.size();
  values_.add(body, partitioning::partition_key_of(document.id, database_->partitioned()));
  const std::uint64_t number = values_.documents();
  if (number <= measured_first || number % measured_each == 0) measure(document, body);
  return {};
}

void IndexAdvisor::measure(const storage::DocumentView& document, const simdjson::dom::element& body) {
  ++measured_;
  const IndexedDocument indexed{body, document.body, document.id, document.revision};
  std::string key;
  std::string value;
  for (std::size_t i = 0; i < proposals_.size(); ++i) {
    const IndexProposal& proposal = proposals_[i];
    key.clear();
    value.clear();
    if (proposal.kind == IndexProposal::Kind::json) {
      append_index_entry(proposal.fields, indexed, key, value);
      entry_bytes_[i] += key.size() + value.size() + row_overhead_bytes;
      continue;
    }
    const bool has_entry = proposal.kind == IndexProposal::Kind::composite || find_field(body, proposal.fields[0].path);
    if (!has_entry) continue;
    AutomaticIndex::append_composite_key(key, body, proposal.fields, order_of(input_.present));
    entry_bytes_[i] += path_bytes + key.size() + document.id.size() + row_overhead_bytes;
  }
}

Expected<partitioning::ScanState> IndexAdvisor::run_slice(partitioning::ScanBudget budget) {
  if (database_->deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  Expected<void> taken;
  const auto visit = [&](const storage::DocumentView& document, const storage::Snapshot&) {
    if (document.deleted || storage::is_design_id(document.id)) return partitioning::Visit::next;
    taken = take(document);
    return taken ? partitioning::Visit::next : partitioning::Visit::stop;
  };
  OCTAVO_TRY(const auto state, scan_.run(budget, visit));
  OCTAVO_TRY_VOID(taken);
  return state;
}

// Which documents were created is not recorded: as many as there are more now. Each other change, also of what an index
// does not have, is taken to change its row.
WriteRate IndexAdvisor::write_rate() const {
  constexpr double rows_of_change = 2;  // the old one is removed
  WriteRate rate;
  const RecordedRequests& recorded = input_.recorded;
  if (!recorded.before || input_.written.changes <= recorded.before->changes) return rate;
  const auto changes = static_cast<double>(input_.written.changes - recorded.before->changes);
  const double more = static_cast<double>(input_.written.documents) - static_cast<double>(recorded.before->documents);
  const double created = std::clamp(more, 0.0, changes);
  rate.per_day = changes * seconds_per_day / static_cast<double>(std::max<std::int64_t>(1, recorded.seconds()));
  rate.rows = (created + rows_of_change * (changes - created)) / changes;
  return rate;
}

std::uint64_t IndexAdvisor::bytes_of(std::size_t proposal) const {
  if (measured_ == 0) return 0;
  const double mean = static_cast<double>(entry_bytes_[proposal]) / static_cast<double>(measured_);
  return static_cast<std::uint64_t>(mean * static_cast<double>(values_.documents()));
}

std::vector<UnusedIndex> IndexAdvisor::unused(const WriteRate& writes) const {
  const RecordedRequests& recorded = input_.recorded;
  std::vector<UnusedIndex> found;
  if (recorded.count == 0 || recorded.used.size() == RequestRecorder::used_indexes_max) return found;
  // An index of now may have been created when the definitions changed last.
  const std::int64_t since_s = std::max(recorded.since_s, recorded.indexes_changed_s.value_or(0));
  const double days = static_cast<double>(recorded.now_s - since_s) / seconds_per_day;
  const auto add = [&](const IndexDefinitionPtr& definition) {
    if (recorded.used.contains(mark_of(definition->identity))) return;
    found.push_back({definition, days, writes.costs_per_day()});
  };
  const IndexCatalog& catalog = *input_.present.catalog;
  for (const IndexView& view : catalog.indexes) add(view.definition);
  if (catalog.automatic) {
    const AutomaticIndexPtr& automatic = catalog.automatic->definition->automatic;
    for (std::size_t i = 0; i < automatic->composites().size(); ++i) add(automatic_composite_definition(automatic, i));
  }
  return found;
}

Expected<IndexAdvices> IndexAdvisor::advice() const {
  ScannedDocuments scanned{values_, values_.documents(), bytes_, 0};
  if (database_->partitioned()) {
    if (const auto keys = values_.count({}, true)) scanned.logical_partitions = keys->values;
  }
  IndexAdvices advices;
  advices.writes = write_rate();
  advices.unused = unused(advices.writes);
  for (const RecordedShape& shape : input_.recorded.shapes) {
    if (shape.outline->is_left_out) ++advices.shapes_left_out;
  }
  // Without counters the costs are unknown, and so is whether an index is worth it.
  if (input_.recorded.count == 0 || !input_.recorded.before) return advices;
  const GainTerms terms{.recorded = input_.recorded,
                        .scanned = scanned,
                        .present = input_.present,
                        .proposals = proposals_,
                        .writes = advices.writes,
                        .physical_partitions = database_->physical_partition_count()};
  OCTAVO_TRY(auto gains, choose_indexes(terms, input_.max));
  for (IndexGain& gain : gains) {
    IndexAdvice& advice = advices.create.emplace_back();
    advice.proposal = proposals_[gain.proposal];
    advice.saves_per_day = gain.saves_per_day;
    advice.costs_per_day = advices.writes.costs_per_day();
    advice.bytes = bytes_of(gain.proposal);
    for (const ServedShape& served : gain.serves) advice.source = std::max(advice.source, served.source);
    advice.serves = std::move(gain.serves);
  }
  return advices;
}

}  // namespace octavo::query::advice

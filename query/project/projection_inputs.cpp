#include "query/project/internal/projection_inputs.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/jobs/background_jobs.h"
#include "partitioning/engine.h"

namespace octavo::query::project {

namespace {

// A checkpoint that moves without an effect is stored only now and then.
constexpr storage::Sequence unstored_join_changes_max = 50'000;
constexpr std::size_t referrers_per_step = 2'000;

storage::DocumentView view_of(const FeedDocument& document) {
  storage::DocumentView view;
  view.id = document.id;
  view.revision = document.revision;
  view.sequence = document.sequence;
  view.modified_s = document.modified_s;
  view.owner = document.owner;
  view.deleted = !document.present;
  view.body = document.json;
  return view;
}

}  // namespace

Expected<std::unique_ptr<Projection::Reader>> Projection::Reader::open(Projection& projection,
                                                                       partitioning::Database& target) {
  std::unique_ptr<Reader> reader(new Reader(projection));
  const FormReader read_form = projection.options_.read_form;
  OCTAVO_TRY(reader->from_, read_form(projection.source_));
  OCTAVO_TRY(reader->into_, read_form(target));
  const auto& definition = projection.record_.definition;
  for (std::size_t join = 0; join < definition.joins.size(); ++join) {
    const JoinConsumer* const input = projection.joins_[join].get();
    if (input == nullptr || input->database().deleted()) {
      return fail(ErrorCode::not_found,
                  fmt::format("The joined database {} does not exist any more.", definition.joins[join].database),
                  "join_missing");
    }
    JoinedDatabase joined{input->database().shared_from_this(), nullptr};
    OCTAVO_TRY(joined.form, read_form(*joined.database));
    reader->joined_.push_back(std::move(joined));
  }
  if (!projection.program_) {
    const RowTarget into{reader->into_->keeps_key_in_body(), target.partitioned()};
    OCTAVO_TRY(projection.program_, RowProgram::compile(definition, into, reader->joined_));
  }
  const auto count = [&state = *projection.state_](std::size_t join, std::string_view key) {
    return state.count(join, key);
  };
  RowEvaluator::Environment environment{.from = *reader->from_,
                                        .into = *reader->into_,
                                        .into_is_partitioned = target.partitioned(),
                                        .joined = reader->joined_,
                                        .counts = count,
                                        .bytes_max = projection.source_.engine().settings().document_bytes_max,
                                        .transform = projection.transform_};
  reader->evaluator_ = std::make_unique<RowEvaluator>(*projection.program_, std::move(environment));
  return reader;
}

Expected<ProjectedDocument> Projection::Reader::evaluate(const FeedDocument& document) {
  if (!document.present) return ProjectedDocument{};
  return evaluate(view_of(document));
}

Expected<ProjectedDocument> Projection::Reader::evaluate(std::string_view id) {
  OCTAVO_TRY(const auto snapshot, projection_.source_.snapshot_for_document(id));
  OCTAVO_TRY(const auto record, snapshot.find_stored_record(id));
  if (!record || record->deleted) return ProjectedDocument{};
  OCTAVO_TRY(const auto document, snapshot.open(*record));
  return evaluate(document);
}

Expected<ProjectedDocument> Projection::Reader::evaluate(const storage::DocumentView& document) {
  auto result = evaluator_->evaluate(document);
  if (!result && !may_pass(result.error())) {
    projection_.note_error(document.id, reason_of(result.error()));
  } else if (result && result->skip == ProjectedDocument::Skip::error) {
    projection_.note_error(document.id, result->reason);
  }
  return result;
}

Expected<std::optional<std::string>> Projection::Reader::counted_key(std::size_t join, const FeedDocument& document) {
  return evaluator_->counted_key(join, view_of(document));
}

Expected<Projection::JoinInput> Projection::open_join(std::size_t join) {
  const auto& definition = record_.definition.joins[join];
  auto database = source_.engine().open_incarnation(definition.database, record_.join_tags.at(join));
  if (!database) {
    if (database.error().code != ErrorCode::not_found) return std::unexpected(std::move(database).error());
    return fail(ErrorCode::not_found,
                fmt::format("The joined database {} does not exist any more.", definition.database), "join_missing");
  }
  joins_[join] = std::make_unique<JoinConsumer>(*this, join, *database);
  return JoinInput{*std::move(database), joins_[join].get()};
}

Expected<bool> Projection::fan_out(partitioning::Database& target) {
  const auto until = std::chrono::steady_clock::now() + apply_time;
  OCTAVO_TRY(const auto reader, Reader::open(*this, target));
  while (true) {
    OCTAVO_TRY(auto step, state_->next_step(referrers_per_step));
    if (!step) return false;
    if (step->visited > record_.definition.fan_out_max) {
      return fail(ErrorCode::bad_request,
                  fmt::format("A change of one document of {} alters more than `fan_out_max` = {} rows.",
                              record_.definition.joins[step->join].database, record_.definition.fan_out_max),
                  "fan_out_exceeded");
    }
    ProjectionState::Batch batch = next_batch();
    std::size_t bytes = 0;
    for (const std::string& source : step->sources) {
      if (!batch.changes.empty() && (bytes > outbox_bytes_max || std::chrono::steady_clock::now() >= until)) break;
      OCTAVO_TRY(auto result, reader->evaluate(std::string_view(source)));
      bytes += source.size() + result.bytes();
      batch.changes.push_back({source, std::move(result)});
    }
    step->sources.resize(batch.changes.size());
    batch.step = std::move(step);
    OCTAVO_TRY_VOID(commit(std::move(batch), target));
    if (std::chrono::steady_clock::now() >= until) return true;
  }
}

Projection::JoinConsumer::JoinConsumer(Projection& projection, std::size_t join,
                                       std::shared_ptr<partitioning::Database> database)
    : projection_(projection), join_(join), database_(std::move(database)), opened_at_(database_->watermark()) {
  const auto input = projection.state_->input(join);
  // It knows changes that the database has lost.
  const bool is_ahead = input.checkpoint > database_->watermark();
  stored_checkpoint_ = is_ahead ? 0 : input.checkpoint;
  checkpoint_.store(stored_checkpoint_);
  purge_count_.store(is_ahead ? unknown_purges : input.purge_count);
  if (stored_checkpoint_ == database_->watermark()) complete_through_.store(stored_checkpoint_);
}

storage::Sequence Projection::JoinConsumer::complete_through() const {
  const storage::Sequence through = complete_through_.load(std::memory_order_acquire);
  const bool is_behind =
      projection_.has_pending_.load(std::memory_order_acquire) || projection_.state_->numbers().fan_outs > 0;
  const storage::Sequence read = checkpoint();
  return is_behind ? std::min(through, read > 0 ? read - 1 : 0) : through;
}

storage::Sequence Projection::JoinConsumer::knows_deletions_through() const {
  return std::max(checkpoint(), purge_scan_.scanned_through());
}

Expected<void> Projection::JoinConsumer::note(std::string_view id, std::optional<std::string> key,
                                              ProjectionState::Batch& batch) const {
  if (is_count()) {
    OCTAVO_TRY(const bool is_known, projection_.state_->has_member(join_, id));
    if (is_known || key) batch.members.push_back({join_, std::string(id), std::move(key)});
    return {};
  }
  OCTAVO_TRY(const bool has_referrers, projection_.state_->has_referrers(join_, id));
  if (has_referrers) batch.fan_outs.emplace_back(join_, id);
  return {};
}

Expected<std::size_t> Projection::JoinConsumer::apply(const FeedChanges& changes) {
  const std::lock_guard working(projection_.work_mutex_);
  OCTAVO_TRY(const auto target, projection_.open_target());
  OCTAVO_TRY_VOID(projection_.deliver(*target));
  OCTAVO_TRY(const auto reader, Reader::open(projection_, *target));
  ProjectionState::Batch batch = projection_.next_batch();
  for (const FeedDocument& document : changes.documents) {
    std::optional<std::string> key;
    if (is_count()) {
      OCTAVO_TRY(key, reader->counted_key(join_, document));
    }
    OCTAVO_TRY_VOID(note(document.id, std::move(key), batch));
  }
  const bool is_due =
      changes.reached > stored_checkpoint_ + unstored_join_changes_max || stored_checkpoint_ < changes.dropped_through;
  if (!batch.members.empty() || !batch.fan_outs.empty() || is_due) {
    batch.input.emplace(join_, ProjectionState::Input{changes.reached, purge_count()});
    OCTAVO_TRY_VOID(projection_.commit(std::move(batch), *target));
    stored_checkpoint_ = changes.reached;
  }
  checkpoint_.store(changes.reached, std::memory_order_release);
  OCTAVO_TRY(const bool more, projection_.fan_out(*target));
  if (more) projection_.options_.wake();
  if (changes.complete) complete_through_.store(changes.reached, std::memory_order_release);
  return changes.documents.size();
}

Expected<void> Projection::JoinConsumer::remove(const std::vector<std::string>& gone, std::uint64_t purge_count) {
  const std::lock_guard working(projection_.work_mutex_);
  OCTAVO_TRY(const auto target, projection_.open_target());
  OCTAVO_TRY_VOID(projection_.deliver(*target));
  ProjectionState::Batch batch = projection_.next_batch();
  for (const std::string& id : gone) OCTAVO_TRY_VOID(note(id, std::nullopt, batch));
  batch.input.emplace(join_, ProjectionState::Input{checkpoint(), purge_count});
  OCTAVO_TRY_VOID(projection_.commit(std::move(batch), *target));
  stored_checkpoint_ = checkpoint();
  purge_count_.store(purge_count, std::memory_order_release);
  OCTAVO_TRY(const bool more, projection_.fan_out(*target));
  if (more) projection_.options_.wake();
  return {};
}

Expected<bool> Projection::JoinConsumer::remove_known(const KnownPurges& purges) {
  if (checkpoint() < purges.since || purge_count() == unknown_purges) return false;
  OCTAVO_TRY_VOID(remove(purges.gone, purges.purge_count));
  purge_scan_.reset();
  return true;
}

// Looks at all documents that were looked up, or are counted.
Expected<bool> Projection::JoinConsumer::remove_purged(const GoneDocuments& gone, std::size_t documents_max) {
  const auto next_ids = [this](std::string_view after, std::size_t count_max) {
    return projection_.state_->joined_after(join_, is_count(), after, count_max);
  };
  const auto remove_some = [this](const std::vector<std::string>& found, std::uint64_t count) {
    return remove(found, count);
  };
  return purge_scan_.run(next_ids, purge_count(), gone, documents_max, remove_some);
}

}  // namespace octavo::query::project

#include "partitioning/database.h"

#include <algorithm>
#include <charconv>
#include <new>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "partitioning/completion.h"
#include "partitioning/engine.h"
#include "partitioning/turns.h"

namespace octavo::partitioning {
using storage::DocumentWrite;
using storage::PhysicalPartition;

Database::Database(Engine& engine, storage::DatabaseRecord record)
    : engine_(engine),
      record_(std::move(record)),
      folder_(engine.database_folder(record_.instance_tag)),
      map_(record_.partition_map),
      consumption_(record_.partition_map.size()),
      turns_(std::make_shared<Turns>()),
      revs_limit_(record_.revs_limit) {
  definition_.store(std::make_shared<const DatabaseDefinition>(record_.definition));
  const config::Settings& settings = engine.settings();
  for (std::size_t i = 0; i < record_.partition_map.size(); ++i) {
    PhysicalPartition::Options options;
    options.folder = folder_ / record_.partition_map[i].folder;
    options.ordinal = i;
    options.durability = settings.durability;
    options.map_bytes_initial = settings.map_bytes_initial;
    options.logical_partition_bytes_max = settings.logical_partition_bytes_max;
    options.faults = engine.faults();
    auto partition = std::make_shared<PhysicalPartition>(std::move(options), engine.writers_);
    partition->set_revs_limit(record_.revs_limit);
    partitions_.push_back(std::move(partition));
  }
}

Database::~Database() {
  shut_down();
}

Expected<void> Database::open(const ExtensionFactory& extensions) {
  storage::Sequence last = 0;
  for (const auto& partition : partitions_) {
    OCTAVO_TRY(const storage::Snapshot snapshot, partition->snapshot());
    OCTAVO_TRY(const storage::Sequence partition_last, snapshot.last_sequence());
    last = std::max(last, partition_last);
  }
  sequences_ = std::make_shared<storage::SequenceAllocator>(partitions_.size(), last);
  OCTAVO_TRY(auto security, engine_.catalog().fact("security", record_.name));
  if (security) security_.store(std::make_shared<const std::string>(std::move(*security)));
  for (const auto& partition : partitions_) {
    // Writes hold the partition, and whoever awaits a write holds the database; what is queued without waiting is
    // drained by shut_down before the database goes.
    partition->attach(sequences_, [weak = weak_from_this()](bool design_documents_changed) {
      if (const auto database = weak.lock()) database->on_commit(design_documents_changed);
    });
  }
  if (extensions) extension_ = extensions(*this);
  return {};
}

void Database::on_commit(bool design_documents_changed) {
  if (extension_) {
    if (design_documents_changed) extension_->design_documents_changed();
    extension_->committed();
  }
  changes_.notify_all();
  until_memory_suffices([this] { engine_.updates().record_commit(record_.name, deleted_); });
}

void Database::mark_deleted() {
  deleted_.store(true, std::memory_order_release);
  for (const auto& partition : partitions_) partition->retire();
  changes_.notify_all();
}

void Database::shut_down() {
  if (extension_) extension_->shut_down();
}

std::size_t Database::locate_document(std::string_view document_id) const {
  return partitions_.size() == 1 ? 0 : map_.locate(hash_position(document_id, record_.partitioned, record_.key_scheme));
}

std::size_t Database::locate_partition_key(std::string_view partition_key) const {
  return partitions_.size() == 1 ? 0 : map_.locate(hash_position_of_key(partition_key, record_.key_scheme));
}

Expected<storage::Snapshot> Database::snapshot(std::size_t physical_partition) const {
  if (deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  return partitions_[physical_partition]->snapshot();
}

Expected<storage::Snapshot> Database::snapshot_for_document(std::string_view document_id) const {
  return snapshot(locate_document(document_id));
}

Expected<storage::Snapshot> Database::snapshot_for_partition_key(std::string_view partition_key) const {
  return snapshot(locate_partition_key(partition_key));
}

void Database::fill_partition_keys(std::vector<DocumentWrite>& writes) const {
  for (DocumentWrite& write : writes) write.partition_key = partition_key_of(write.id, record_.partitioned);
}

Expected<void> Database::admit_document(std::string_view document_id) const {
  if (!consumption_.is_limited()) return {};
  const std::size_t place = locate_document(document_id);
  return consumption_.admit(place, place);
}

Expected<void> Database::admit_partition_key(const std::optional<std::string_view>& partition_key) const {
  if (!consumption_.is_limited()) return {};
  if (!partition_key) return consumption_.admit(0, partitions_.size() - 1);
  const std::size_t place = locate_partition_key(*partition_key);
  return consumption_.admit(place, place);
}

void Database::spend_on_document(std::string_view document_id, RequestUnits units) noexcept {
  try {
    consumption_.spend(locate_document(document_id), partition_key_of(document_id, record_.partitioned), units);
  } catch (const std::bad_alloc&) {
    // Locating may need memory. What the request has done, it has done.
  }
}

void Database::spend_on_partition_key(const std::optional<std::string_view>& partition_key,
                                      RequestUnits units) noexcept {
  if (!partition_key) return spend_on_places(0, partitions_.size() - 1, units);
  try {
    consumption_.spend(locate_partition_key(*partition_key), *partition_key, units);
  } catch (const std::bad_alloc&) {
    // As above.
  }
}

void Database::spend_on_places(std::size_t first, std::size_t last, RequestUnits units) noexcept {
  const double share = units / static_cast<double>(last - first + 1);
  for (std::size_t place = first; place <= last; ++place) consumption_.spend(place, {}, share);
}

std::vector<std::optional<Error>> Database::refused_places() const {
  std::vector<std::optional<Error>> refused(partitions_.size());
  for (std::size_t place = 0; place < partitions_.size(); ++place) {
    if (auto admitted = consumption_.admit(place, place); !admitted) refused[place] = std::move(admitted).error();
  }
  return refused;
}

Task<PhysicalPartition::DocumentResults> Database::write(std::vector<DocumentWrite> writes,
                                                         storage::WriteOptions options) {
  using Results = PhysicalPartition::DocumentResults;
  const auto keep_alive = shared_from_this();
  fill_partition_keys(writes);
  if (options.atomic) {
    for (const DocumentWrite& write : writes) {
      if (write.partition_key != writes.front().partition_key || write.partition_key.empty()) {
        const Error error{ErrorCode::bad_request, "All documents of an atomic batch must be of one partition.", {}};
        co_return Results(writes.size(), std::unexpected(error));
      }
    }
  }
  if (writes.empty()) co_return Results{};

  std::vector<std::size_t> place(writes.size());
  bool one_place = true;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    place[i] = locate_document(writes[i].id);
    one_place = one_place && place[i] == place[0];
  }
  std::vector<std::optional<Error>> refused;
  if (consumption_.is_limited()) {
    refused = refused_places();
    if (one_place && refused[place[0]]) co_return Results(writes.size(), std::unexpected(*refused[place[0]]));
  }
  if (one_place) {
    PhysicalPartition& partition = *partitions_[place[0]];
    co_return co_await await_completion<Results>([&](auto done) {
      // The id moves with its write; short ids live inside the string object, so views into them must be set again.
      partition.write(std::move(writes), options, std::move(done));
    });
  }

  // Scatter by physical partition, gather in the order asked.
  struct Gather {
    Results results;
    std::atomic<std::size_t> missing{0};
    std::move_only_function<void(Results)> done;
  };
  auto gather = std::make_shared<Gather>();
  gather->results.assign(writes.size(), storage::WrittenDocument{});
  std::vector<std::vector<DocumentWrite>> parts(partitions_.size());
  std::vector<std::vector<std::size_t>> positions(partitions_.size());
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (!refused.empty() && refused[place[i]]) {
      gather->results[i] = std::unexpected(*refused[place[i]]);
      continue;
    }
    parts[place[i]].push_back(std::move(writes[i]));
    positions[place[i]].push_back(i);
  }
  for (auto& part : parts) {
    fill_partition_keys(part);
    if (!part.empty()) gather->missing.fetch_add(1, std::memory_order_relaxed);
  }
  // All that needs memory first: once a part is on its way, the others must follow.
  std::vector<PhysicalPartition::Completion> gatherers(partitions_.size());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].empty()) continue;
    gatherers[p] = [gather, where = std::move(positions[p])](Results part) {
      for (std::size_t i = 0; i < part.size(); ++i) gather->results[where[i]] = std::move(part[i]);
      if (gather->missing.fetch_sub(1, std::memory_order_acq_rel) == 1) gather->done(std::move(gather->results));
    };
  }
  if (gather->missing.load(std::memory_order_relaxed) == 0) co_return std::move(gather->results);
  co_return co_await await_completion<Results>([&](auto done) {
    gather->done = std::move(done);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (gatherers[p]) partitions_[p]->write(std::move(parts[p]), options, std::move(gatherers[p]));
    }
  });
}

Task<Expected<void>> Database::run_transaction(std::string_view partition_key, PhysicalPartition::TransactionTask task,
                                               std::size_t bytes) {
  co_return co_await run_transaction_in(locate_partition_key(partition_key), std::move(task), bytes);
}

Task<Expected<void>> Database::run_transaction_in(std::size_t physical_partition,
                                                  PhysicalPartition::TransactionTask task, std::size_t bytes) {
  const auto keep_alive = shared_from_this();
  if (auto admitted = consumption_.admit(physical_partition, physical_partition); !admitted) {
    co_return std::unexpected(std::move(admitted).error());
  }
  PhysicalPartition& partition = *partitions_[physical_partition];
  co_return co_await await_completion<Expected<void>>(
      [&](auto done) { partition.run_transaction(std::move(task), bytes, std::move(done)); });
}

Expected<void> Database::write_unacknowledged(std::vector<DocumentWrite> writes) {
  if (deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  for (DocumentWrite& write : writes) {
    const std::size_t place = locate_document(write.id);
    OCTAVO_TRY_VOID(consumption_.admit(place, place));
    PhysicalPartition& partition = *partitions_[place];
    std::vector<DocumentWrite> one;
    one.push_back(std::move(write));
    fill_partition_keys(one);
    partition.write(std::move(one), {}, [keep_alive = shared_from_this()](const auto&) {});
  }
  return {};
}

Task<Expected<std::uint64_t>> Database::write_local(storage::LocalDocumentWrite write) {
  const auto keep_alive = shared_from_this();
  PhysicalPartition& partition = *partitions_[locate_document(write.id)];
  co_return co_await await_completion<Expected<std::uint64_t>>(
      [&](auto done) { partition.write_local(std::move(write), std::move(done)); });
}

Task<Expected<std::vector<std::vector<storage::Revision>>>> Database::purge(
    std::vector<storage::PurgeRequest> requests) {
  using Purged = std::vector<std::vector<storage::Revision>>;
  const auto keep_alive = shared_from_this();
  Purged purged(requests.size());
  std::vector<std::vector<storage::PurgeRequest>> parts(partitions_.size());
  std::vector<std::vector<std::size_t>> positions(partitions_.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::size_t place = locate_document(requests[i].id);
    parts[place].push_back(std::move(requests[i]));
    positions[place].push_back(i);
  }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].empty()) continue;
    for (auto& request : parts[p]) request.partition_key = partition_key_of(request.id, record_.partitioned);
    auto part = co_await await_completion<Expected<Purged>>(
        [&](auto done) { partitions_[p]->purge(std::move(parts[p]), std::move(done)); });
    if (!part) co_return std::unexpected(part.error());
    for (std::size_t i = 0; i < part->size(); ++i) purged[positions[p][i]] = std::move((*part)[i]);
  }
  co_return purged;
}

std::string Database::format_sequence(storage::Sequence sequence) const {
  return fmt::format("{}-{}", sequence, record_.instance_tag);
}

Expected<storage::Sequence> Database::parse_sequence(std::string_view text) const {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  if (text == "now") return watermark();
  storage::Sequence sequence = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sequence);
  const std::string_view tag = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc{} || (!tag.empty() && (tag.front() != '-' || tag.size() == 1))) {
    return fail(ErrorCode::bad_request, "Malformed sequence supplied in 'since' parameter.");
  }
  // A sequence of another incarnation says nothing here: start again, so that nothing is missed.
  if (!tag.empty() && tag.substr(1) != record_.instance_tag) return storage::Sequence{0};
  return sequence;
}

Task<bool> Database::wait_for_change(storage::Sequence after, std::chrono::steady_clock::time_point deadline) {
  const auto keep_alive = shared_from_this();
  while (true) {
    const std::uint64_t epoch = changes_.epoch();
    if (watermark() > after) co_return true;
    if (deleted()) co_return false;
    const bool notified = co_await changes_.wait(epoch, deadline);
    if (!notified) co_return watermark() > after;
  }
}

Expected<storage::DocumentStatistics> Database::statistics() const {
  storage::DocumentStatistics sum;
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    OCTAVO_TRY(const storage::Snapshot part, snapshot(i));
    OCTAVO_TRY(const storage::DocumentStatistics statistics, part.statistics());
    sum.document_count += statistics.document_count;
    sum.deleted_count += statistics.deleted_count;
    sum.external_bytes += statistics.external_bytes;
  }
  return sum;
}

Expected<storage::Environment::Sizes> Database::file_sizes() const {
  storage::Environment::Sizes sum;
  for (const auto& partition : partitions_) {
    OCTAVO_TRY(const storage::Environment::Sizes sizes, partition->environment().sizes());
    sum.file_bytes += sizes.file_bytes;
    sum.used_bytes += sizes.used_bytes;
    sum.map_bytes += sizes.map_bytes;
  }
  return sum;
}

Expected<std::uint64_t> Database::purge_count() const {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    OCTAVO_TRY(const storage::Snapshot part, snapshot(i));
    OCTAVO_TRY(const std::uint64_t purged, part.purge_count());
    count += purged;
  }
  return count;
}

Expected<void> Database::set_revs_limit(std::uint32_t limit) {
  std::lock_guard<std::mutex> lock(facts_mutex_);
  storage::DatabaseRecord changed = record_;
  changed.revs_limit = limit;
  const auto replaced = engine_.catalog().replace(changed);
  if (!replaced) {
    // A disk that failed may have taken it: what is in force is what a restart would find.
    const auto stored = engine_.catalog().find(record_.name);
    if (!stored || !*stored) return replaced;
    limit = (*stored)->revs_limit;
  }
  record_.revs_limit = limit;
  revs_limit_.store(limit, std::memory_order_relaxed);
  for (const auto& partition : partitions_) partition->set_revs_limit(limit);
  return replaced;
}

Expected<void> Database::set_definition(std::string text) {
  std::lock_guard<std::mutex> lock(facts_mutex_);
  if (deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  storage::DatabaseRecord changed = record_;
  changed.definition = std::move(text);
  const auto replaced = engine_.catalog().replace(changed);
  if (!replaced) {
    // As above: what a restart would find.
    auto stored = engine_.catalog().find(record_.name);
    if (!stored || !*stored) return replaced;
    changed.definition = std::move((*stored)->definition);
  }
  record_.definition = std::move(changed.definition);
  definition_.store(std::make_shared<const DatabaseDefinition>(record_.definition), std::memory_order_release);
  if (extension_) extension_->definition_changed();
  return replaced;
}

std::shared_ptr<const std::string> Database::security() const {
  return security_.load(std::memory_order_acquire);
}

Expected<void> Database::set_security(std::string json) {
  std::lock_guard<std::mutex> lock(facts_mutex_);
  if (deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  auto next = std::make_shared<std::string>(std::move(json));
  const auto written = engine_.catalog().set_fact("security", record_.name, *next);
  if (!written) {
    // As above.
    auto stored = engine_.catalog().fact("security", record_.name);
    if (!stored || !*stored) return written;
    *next = **std::move(stored);
  }
  security_.store(std::move(next), std::memory_order_release);
  return written;
}

Expected<storage::Sequence> Database::visible_sequence() const {
  storage::Sequence shown = 0;
  for (std::size_t i = 0; i < partitions_.size(); ++i) {
    if (!sequences_->in_flight(i)) continue;
    OCTAVO_TRY(const storage::Snapshot part, snapshot(i));
    OCTAVO_TRY(const storage::Sequence last, part.last_sequence());
    shown = std::max(shown, last);
  }
  // A commit that ended since is in this.
  return std::max(shown, sequences_->committed());
}

Expected<void> Database::make_durable() {
  bool durable = engine_.settings().durability == config::Durability::commit;
  if (durable) {
    // A sync under way is over once the watermark has passed.
    OCTAVO_TRY(const storage::Sequence shown, visible_sequence());
    durable = watermark() >= shown;
  }
  if (durable) return {};
  for (const auto& partition : partitions_) OCTAVO_TRY_VOID(partition->environment().sync());
  return {};
}

std::size_t Database::open_environment_count() const {
  const auto own =
      std::count_if(partitions_.begin(), partitions_.end(), [](const auto& p) { return p->environment().is_open(); });
  return static_cast<std::size_t>(own) + (extension_ ? extension_->open_environment_count() : 0);
}

std::uint64_t Database::last_used_ms() const {
  std::uint64_t newest = extension_ ? extension_->last_used_ms() : 0;
  for (const auto& partition : partitions_) newest = std::max(newest, partition->environment().last_used_ms());
  return newest;
}

std::size_t Database::close_idle(std::uint64_t last_used_before_ms) {
  std::size_t closed = extension_ ? extension_->close_idle(last_used_before_ms) : 0;
  for (const auto& partition : partitions_) {
    storage::Environment& environment = partition->environment();
    if (!environment.is_open() || environment.last_used_ms() > last_used_before_ms) continue;
    if (environment.close_if_idle()) ++closed;
  }
  return closed;
}

}  // namespace octavo::partitioning

#include "query/database/database_services.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "query/database/feed_index_kinds.h"

namespace octavo::query {

namespace {

void keep_replaced(partitioning::Database& database, bool keeps) {
  const auto& settings = database.engine().settings();
  storage::ReplacedLimits limits;
  if (keeps) limits.kept_s = static_cast<std::uint32_t>(settings.replaced_kept_s.count());
  limits.share_percent = settings.replaced_share_max;
  for (const auto& partition : database.partition_map().partitions()) {
    if (partition) partition->set_replaced_limits(limits);
  }
}

void apply_throughput(partitioning::Database& database, const DatabaseProperties& properties) {
  auto& engine = database.engine();
  auto& meter = database.meter();
  if (!engine.settings().enforce_throughput) {
    if (meter.budget() != nullptr) meter.set_budget(nullptr);
    return;
  }
  if (!properties.throughput_owner.empty()) {
    if (properties.throughput == 0) return;
    meter.set_budget(engine.shared_budgets().budget(properties.throughput_owner, properties.throughput));
    return;
  }
  auto own = meter.budget();
  if (own == nullptr && properties.throughput == 0) return;
  const std::size_t count = database.physical_partition_count();
  if (own == nullptr || own->shares() != count) own = std::make_shared<partitioning::ThroughputBudget>(count);
  own->set_rate(properties.throughput);
  meter.set_budget(std::move(own));
}

storage::CompactionQueue::Target compaction_of(partitioning::Database& database, const FeedIndexes& indexes,
                                               const FeedIndexView& view) {
  const std::shared_ptr<FeedIndex> index = view.index;
  const std::string& design_document = view.definition.design_document;
  const std::string& name = view.definition.name;
  storage::CompactionQueue::Target target;
  target.owner = database.shared_from_this();
  target.index = index;
  target.database = database.name();
  target.design_document = design_document;
  target.name = name.empty() ? "views of " + design_document : design_document + "/" + name;
  target.with_documents = false;
  target.store = index->store();
  target.files.compact = [one = index.get()](const std::function<bool()>& stopped) { return one->compact(stopped); };
  target.files.file_bytes = [one = index.get()] { return one->file_bytes(); };
  target.files.density = [one = index.get()] { return one->density(); };
  target.is_gone = [&database, &indexes, one = index.get()] { return database.deleted() || !indexes.is_wanted(*one); };
  return target;
}

storage::CompactionQueue::Target compaction_of(partitioning::Database& database, const MangoIndexes& indexes,
                                               const IndexView& view) {
  const std::shared_ptr<GlobalIndex> index = view.global;
  storage::CompactionQueue::Target target;
  target.owner = database.shared_from_this();
  target.index = index;
  target.database = database.name();
  target.design_document = view.definition->design_document;
  target.name = view.definition->design_document + "/" + view.definition->name;
  target.store = &index->store();
  target.is_gone = [&database, &indexes, one = index.get()] { return database.deleted() || !indexes.is_wanted(*one); };
  return target;
}

storage::CompactionQueue::Target compaction_of(partitioning::Database& database,
                                               const std::shared_ptr<project::Projection>& projection) {
  storage::CompactionQueue::Target target;
  target.owner = database.shared_from_this();
  target.index = projection->state();
  target.database = database.name();
  target.name = "projection " + projection->record().name;
  target.store = &projection->store();
  target.is_gone = [&database, weak = std::weak_ptr(projection)] { return database.deleted() || weak.expired(); };
  return target;
}

std::size_t partitions_needed_for(partitioning::Database& database, const DatabaseProperties& properties) {
  if (!properties.throughput_owner.empty()) return 1;
  using partitioning::partition_throughput_max;
  const std::uint32_t needed = properties.throughput / partition_throughput_max +
                               (properties.throughput % partition_throughput_max == 0 ? 0 : 1);
  return std::clamp<std::size_t>(needed, 1, std::max(database.engine().settings().q_max, 1U));
}

// If the throughput exceeds what the physical partitions can have, there must be more of them.
void grow_for_throughput(partitioning::Database& database, const DatabaseProperties& properties) {
  if (!database.engine().settings().enforce_throughput) return;
  const std::size_t wanted = partitions_needed_for(database, properties);
  if (wanted <= database.physical_partition_count()) return;
  if (const auto held = database.weak_from_this().lock()) database.engine().moves().grow(held, wanted);
}

IndexPolicy policy_of(const DatabaseProperties& properties) {
  return {.unique_keys = properties.unique_keys, .automatic = properties.automatic_index};
}

// nullopt: the definition is damaged, which the log says.
std::optional<DatabaseProperties> read_properties(partitioning::Database& database, DefinitionReader read_definition) {
  auto read = read_definition(database);
  if (read) return *std::move(read);
  spdlog::error("database {}: its properties cannot be read and are not applied: {}", database.name(),
                reason_of(read.error()));
  return std::nullopt;
}

}  // namespace

DatabaseServices::DatabaseServices(partitioning::Database& database, ActiveTasks* tasks,
                                   DefinitionReader read_definition, UnixClock now_s, project::FormReader read_form,
                                   const FeedAttachmentFactory& attach, copy::Succession succession)
    : DatabaseServices(database, tasks, read_definition, std::move(now_s), read_form, attach, succession,
                       read_properties(database, read_definition)) {}

DatabaseServices::DatabaseServices(partitioning::Database& database, ActiveTasks* tasks,
                                   DefinitionReader read_definition, UnixClock now_s, project::FormReader read_form,
                                   const FeedAttachmentFactory& attach, copy::Succession succession,
                                   const std::optional<DatabaseProperties>& properties)
    : database_(database),
      read_definition_(read_definition),
      now_s_(std::move(now_s)),
      recorder_(now_s_, [this] { return write_counters(database_); }),
      design_functions_(database),
      feed_indexes_(database, tasks, feed_index_kinds()),
      indexes_(database, tasks, policy_of(properties.value_or(DatabaseProperties{}))),
      projections_(database, tasks, read_form, succession.carry),
      copies_(database, tasks, read_form, succession),
      attachment_(attach ? attach(database) : nullptr) {
  const std::lock_guard lock(mutex_);
  if (properties) apply(*properties);
}

DatabaseServices::~DatabaseServices() {
  shut_down();
}

partitioning::ExtensionFactory DatabaseServices::factory(ActiveTasks* tasks, DefinitionReader read_definition,
                                                         UnixClock now_s, project::FormReader read_form,
                                                         FeedAttachmentFactory attach, copy::Succession succession) {
  return [=](partitioning::Database& database) -> std::unique_ptr<partitioning::DatabaseExtension> {
    return std::make_unique<DatabaseServices>(database, tasks, read_definition, now_s, read_form, attach, succession);
  };
}

DatabaseServices* services_of(partitioning::Database& database) {
  // All extensions of an engine come from its one factory.
  return static_cast<DatabaseServices*>(database.extension());
}

Expected<DatabaseServices*> required(DatabaseServices* services) {
  if (services == nullptr) return fail(ErrorCode::internal, "The engine was opened without indexes and functions.");
  return services;
}

Task<Expected<void>> DatabaseServices::wait_for_expirations(std::chrono::steady_clock::time_point deadline) {
  Expiration* expiration = nullptr;
  {
    const std::lock_guard lock(mutex_);
    expiration = expiration_.get();
  }
  if (expiration == nullptr) co_return Expected<void>{};
  co_return co_await expiration->wait_until_deleted(deadline);
}

void DatabaseServices::apply_properties() {
  const std::lock_guard lock(mutex_);
  // Read under the mutex, so that the last thread to apply properties has the newest.
  const auto properties = read_properties(database_, read_definition_);
  if (!properties || shut_down_) return;
  indexes_.set_policy(policy_of(*properties));
  apply(*properties);
}

// Called with the mutex held.
void DatabaseServices::apply(const DatabaseProperties& properties) {
  if (properties.ttl_s && !expiration_) expiration_ = std::make_unique<Expiration>(database_);
  if (expiration_) expiration_->set_default(properties.ttl_s);
  if (properties.all_versions_s > 0 && !retention_) retention_ = std::make_unique<VersionRetention>(database_);
  if (retention_) retention_->set_seconds(properties.all_versions_s);
  if (properties.tombstone_retention_s > 0 && !tombstones_) {
    tombstones_ = std::make_unique<TombstoneRetention>(database_, [this] { return followed_through(); }, now_s_);
    told_of_commits_.store(tombstones_.get(), std::memory_order_release);
  }
  if (tombstones_) tombstones_->set_seconds(properties.tombstone_retention_s);
  keep_replaced(database_, properties.keeps_replaced);
  apply_throughput(database_, properties);
  grow_for_throughput(database_, properties);
}

std::optional<advice::WriteCounters> write_counters(const partitioning::Database& database) {
  const auto statistics = database.statistics();
  if (!statistics) return std::nullopt;
  return advice::WriteCounters{database.committed_sequence(), statistics->document_count};
}

// How far the indexes have read the feed that make progress. Those that are behind are woken: in a database that does
// not change nothing else does that.
storage::Sequence DatabaseServices::followed_through() {
  const storage::Sequence through =
      std::min({feed_indexes_.followed_through(), indexes_.followed_through(), projections_.followed_through(),
                copies_.followed_through(),
                attachment_ ? attachment_->followed_through() : std::numeric_limits<storage::Sequence>::max()});
  if (through < database_.watermark()) {
    feed_indexes_.committed();
    indexes_.committed();
    projections_.committed();
    copies_.committed();
    if (attachment_) attachment_->committed();
  }
  return through;
}

void DatabaseServices::design_documents_changed() {
  recorder_.note_definitions();
  design_functions_.design_documents_changed();
  feed_indexes_.design_documents_changed();
  indexes_.definitions_changed();
}

void DatabaseServices::committed() {
  feed_indexes_.committed();
  indexes_.committed();
  projections_.committed();
  copies_.committed();
  if (attachment_) attachment_->committed();
  if (auto* const tombstones = told_of_commits_.load(std::memory_order_acquire)) tombstones->committed();
}

void DatabaseServices::definition_changed() {
  recorder_.note_definitions();
  apply_properties();
  // The indexing policy may have changed.
  indexes_.definitions_changed();
}

Expected<void> DatabaseServices::partition_added(std::size_t partition_id) {
  apply_properties();
  projections_.apply_owners();
  return indexes_.partition_added(partition_id);
}

void DatabaseServices::partition_removed(std::size_t partition_id) {
  indexes_.partition_removed(partition_id);
}

bool DatabaseServices::is_partition_ready(std::size_t partition_id, std::size_t source) {
  return indexes_.is_partition_ready(partition_id, source);
}

std::size_t DatabaseServices::partitions_needed() {
  const auto properties = read_properties(database_, read_definition_);
  return properties ? partitions_needed_for(database_, *properties) : 1;
}

void DatabaseServices::partitions_changed() {
  apply_properties();
  projections_.apply_owners();
  indexes_.partitions_changed();
}

void DatabaseServices::shut_down() {
  {
    const std::lock_guard lock(mutex_);
    shut_down_ = true;
  }
  // From here on apply_properties() changes none of these.
  if (expiration_) expiration_->stop();
  if (retention_) retention_->stop();
  if (tombstones_) tombstones_->stop();
  if (attachment_) attachment_->shut_down();
  copies_.shut_down();
  projections_.shut_down();
  feed_indexes_.shut_down();
  indexes_.shut_down();
}

Expected<void> DatabaseServices::load_indexes() {
  OCTAVO_TRY_VOID(feed_indexes_.catalog());
  OCTAVO_TRY_VOID(indexes_.catalog());
  return {};
}

std::vector<storage::CompactionQueue::Target> DatabaseServices::compaction_targets() {
  std::vector<storage::CompactionQueue::Target> targets;
  if (const auto catalog = indexes_.last_catalog()) {
    for (const IndexView& view : catalog->indexes) {
      // One that is being built is filled in the order of its keys, and emptied if that begins again.
      if (view.global && view.global->ready()) targets.push_back(compaction_of(database_, indexes_, view));
    }
  }
  if (const auto catalog = feed_indexes_.last_catalog()) {
    for (const FeedIndexView& view : catalog->indexes) {
      if (view.index) targets.push_back(compaction_of(database_, feed_indexes_, view));
    }
  }
  for (const auto& projection : projections_.projections()) targets.push_back(compaction_of(database_, projection));
  return targets;
}

Expected<void> DatabaseServices::clean_up() {
  OCTAVO_TRY_VOID(feed_indexes_.clean_up());
  return indexes_.clean_up();
}

std::size_t DatabaseServices::open_store_count() const {
  return feed_indexes_.open_store_count() + indexes_.open_store_count() + projections_.open_store_count() +
         copies_.open_store_count();
}

std::uint64_t DatabaseServices::last_used_ms() const {
  return std::max(
      {feed_indexes_.last_used_ms(), indexes_.last_used_ms(), projections_.last_used_ms(), copies_.last_used_ms()});
}

std::size_t DatabaseServices::close_idle(std::uint64_t last_used_before_ms) {
  recorder_.forget_if_idle();
  database_.meter().point_requests().forget_if_idle();
  return feed_indexes_.close_idle(last_used_before_ms) + indexes_.close_idle(last_used_before_ms) +
         projections_.close_idle(last_used_before_ms) + copies_.close_idle(last_used_before_ms);
}

}  // namespace octavo::query

#include "api/cosmos/resources/registry.h"

#include <algorithm>

#include "analytics/analytics.h"
#include "api/cosmos/resources/user_records.h"
#include "api/models/database_properties.h"
#include "api/models/errors.h"
#include "api/models/resource_id.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "base/unix_time.h"
#include "query/database/database_services.h"

namespace octavo::api::cosmos {

namespace {

namespace json = boost::json;

constexpr std::size_t name_bytes_max = 240;  // of a database: the name is part of keys of the catalog
/// This API shows the current revision alone; `_revs_limit` of the CouchDB API can raise the number for replication.
constexpr std::uint32_t container_revs_limit = 20;
constexpr std::uint32_t throughput_per_partition_max = partitioning::partition_throughput_max;

std::unexpected<Error> no_owner(std::string_view database) {
  return fail(ErrorCode::not_found,
              "Owner resource does not exist: there is no database '" + std::string(database) + "'.",
              word::owner_missing);
}

Expected<void> check_etag(const std::optional<std::string>& wanted, std::string_view etag) {
  if (wanted && *wanted != etag) return fail(ErrorCode::precondition_failed, "", word::etag);
  return {};
}

// The store itself is made by what follows the container (analytics/follow/database_analytics.h).
Expected<void> check_analytics(const partitioning::Engine& engine, const ContainerDefinition& definition) {
  if (definition.analytical_ttl_s == 0 || engine.settings().analytics_enabled) return {};
  return fail(
      ErrorCode::bad_request,
      "Analytics are not enabled, so a container cannot have an analytical store: leave out 'analyticalStorageTtl', or "
      "set analytics.enabled (OCTAVO_ANALYTICS_ENABLED=true) and start the server again.");
}

// Whether physical partitions are being split because the throughput needs more of them. Each split that ends begins
// the next one.
bool is_growing(partitioning::Database& database) {
  partitioning::Engine& engine = database.engine();
  if (!engine.settings().enforce_throughput || database.extension() == nullptr) return false;
  const std::size_t needed =
      std::min(database.extension()->partitions_needed(), partitioning::MoveQueue::partitions_max);
  if (needed <= database.physical_partition_count()) return false;
  const auto jobs = engine.moves().jobs();
  const auto last = std::find_if(jobs.rbegin(), jobs.rend(),
                                 [&](const auto& job) { return job.instance_tag == database.instance_tag(); });
  using State = partitioning::MoveQueue::State;
  return last != jobs.rend() && last->state != State::failed && last->state != State::stopped;
}

}  // namespace

std::string new_etag() {
  return crypto::hex_encode(crypto::random_bytes(8));
}

Expected<void> check_database_id(std::string_view id) {
  OCTAVO_TRY_VOID(check_resource_id(id));
  if (id.size() <= name_bytes_max) return {};
  return fail(ErrorCode::bad_request, "The input name is invalid: at most 240 bytes are possible here.");
}

Expected<std::optional<DatabaseDefinition>> Registry::database(std::string_view id) const {
  if (id.size() > name_bytes_max) return std::nullopt;
  OCTAVO_TRY(const auto stored, engine_.catalog().fact(database_area, id));
  if (!stored) return std::nullopt;
  OCTAVO_TRY(auto definition, DatabaseDefinition::from_stored(id, *stored));
  return definition;
}

Expected<std::vector<DatabaseDefinition>> Registry::databases(std::string_view after, std::size_t count_max) const {
  OCTAVO_TRY(const auto stored, engine_.catalog().facts(database_area));
  std::vector<DatabaseDefinition> definitions;
  for (const auto& [id, text] : stored) {
    if (!after.empty() && id <= after) continue;
    if (definitions.size() == count_max) break;
    OCTAVO_TRY(auto definition, DatabaseDefinition::from_stored(id, text));
    definitions.push_back(std::move(definition));
  }
  return definitions;
}

Expected<void> Registry::store(const DatabaseDefinition& definition) {
  return engine_.catalog().set_fact(database_area, definition.id, definition.to_stored());
}

Expected<DatabaseDefinition> Registry::create_database(std::string id, std::optional<Throughput> throughput) {
  OCTAVO_TRY_VOID(check_database_id(id));
  std::lock_guard<std::mutex> lock(changes_);
  OCTAVO_TRY(const auto known, database(id));
  if (known || resolve(id) != id) return fail(ErrorCode::conflict, "", word::exists);
  OCTAVO_TRY(const auto others, databases("", SIZE_MAX));
  DatabaseDefinition definition;
  definition.id = std::move(id);
  do {
    definition.rid = new_database_rid();
  } while (std::ranges::any_of(others, [&](const auto& other) { return other.rid == definition.rid; }));
  definition.etag = new_etag();
  definition.modified_s = unix_now_s();
  definition.throughput = throughput;
  definition.offer_rid = show_rid(crypto::random_bytes(4));
  definition.offer_etag = new_etag();
  OCTAVO_TRY_VOID(store(definition));
  engine_.shared_budgets().set_rate(definition.id, throughput ? throughput->highest() : 0);
  return definition;
}

std::string Registry::resolve(std::string_view id) const {
  std::string prefix = engine_.databases().resolve_prefix(std::string(id) + '/');
  prefix.pop_back();
  return prefix;
}

Expected<void> Registry::delete_database(std::string_view id, const std::optional<std::string>& etag) {
  std::lock_guard<std::mutex> lock(changes_);
  OCTAVO_TRY(const auto known, database(id));
  if (!known) return fail(ErrorCode::not_found, "");
  OCTAVO_TRY_VOID(check_etag(etag, known->etag));
  OCTAVO_TRY(const auto inside, containers(id, "", SIZE_MAX));
  for (const auto& container : inside) {
    const auto deleted = engine_.delete_database(std::string(id) + '/' + container.id);
    if (!deleted && deleted.error().code != ErrorCode::not_found) return deleted;
  }
  const std::string prefix = std::string(id) + '/';
  for (const std::string& alias : engine_.databases().prefix_aliases_of(prefix)) {
    OCTAVO_TRY_VOID(engine_.remove_prefix_alias(alias, prefix));
  }
  OCTAVO_TRY_VOID(erase_users_of(engine_.catalog(), id));
  return engine_.catalog().erase_fact(database_area, id);
}

Expected<ContainerDefinition> Registry::stored_container(std::string_view name) const {
  // An open database knows what a failed disk may have kept from the catalog.
  OCTAVO_TRY(const auto record, engine_.catalog().find(engine_.databases().resolve(name)));
  if (!record || !is_container(record->definition)) return fail(ErrorCode::not_found, "");
  return ContainerDefinition::from_stored(record->definition, record->name);
}

Expected<std::vector<ContainerDefinition>> Registry::containers(std::string_view database_id, std::string_view after,
                                                                std::size_t count_max) const {
  constexpr std::size_t batch_names = 100;
  const std::string prefix = std::string(database_id) + '/';
  std::string from = prefix + std::string(after);
  bool inclusive = after.empty();
  std::vector<ContainerDefinition> definitions;
  while (definitions.size() < count_max) {
    const auto names = engine_.databases().names_from(from, inclusive, false, batch_names);
    for (const auto& name : names) {
      if (!name.starts_with(prefix)) return definitions;
      auto container = stored_container(name);
      // A database of the CouchDB API may have such a name too, but is not a container.
      if (!container && container.error().code != ErrorCode::not_found) return std::unexpected(container.error());
      if (container) definitions.push_back(std::move(*container));
      if (definitions.size() == count_max) return definitions;
    }
    if (names.size() < batch_names) break;
    from = names.back();
    inclusive = false;
  }
  return definitions;
}

Expected<ContainerDefinition> Registry::create_container(std::string_view id, ContainerDefinition definition,
                                                         const partitioning::DatabaseOrigin& origin) {
  OCTAVO_TRY_VOID(check_analytics(engine_, definition));
  std::lock_guard<std::mutex> lock(changes_);
  const std::string database_id = resolve(id);
  OCTAVO_TRY(const auto owner, database(database_id));
  if (!owner) return no_owner(database_id);
  OCTAVO_TRY(const auto others, containers(database_id, "", SIZE_MAX));
  do {
    definition.rid = new_container_rid(owner->rid);
  } while (std::ranges::any_of(others, [&](const auto& other) { return other.rid == definition.rid; }));
  definition.etag = new_etag();
  definition.modified_s = unix_now_s();
  definition.offer_rid = show_rid(crypto::random_bytes(4));
  definition.offer_etag = new_etag();
  // A container without throughput shares its database's; if that has none, it gets the minimum.
  if (!definition.throughput && !owner->throughput)
    definition.throughput = Throughput{.manual = 400, .enforced = false};

  partitioning::CreateDatabaseOptions options;
  options.partitioned = true;
  options.revs_limit = std::min(container_revs_limit, engine_.settings().revs_limit);
  options.key_scheme = definition.key_scheme;
  options.definition = definition.to_stored();
  options.origin = origin;
  const std::uint32_t throughput = definition.throughput ? definition.throughput->highest() : 0;
  const std::uint32_t needed = (throughput + throughput_per_partition_max - 1) / throughput_per_partition_max;
  options.q = std::min(std::max(needed, engine_.settings().default_q), engine_.settings().q_max);
  const auto created = engine_.create_database(std::string(database_id) + '/' + definition.id, std::move(options));
  if (!created) {
    if (created.error().code == ErrorCode::precondition_failed) return fail(ErrorCode::conflict, "", word::exists);
    return std::unexpected(created.error());
  }
  return definition;
}

Expected<ContainerDefinition> Registry::replace_container(std::string_view database_id, std::string_view id,
                                                          const json::object& body,
                                                          const std::optional<std::string>& etag) {
  std::lock_guard<std::mutex> lock(changes_);
  OCTAVO_TRY(const auto opened, engine_.open_database(std::string(database_id) + '/' + std::string(id)));
  OCTAVO_TRY(const auto current, container_of(*opened));
  OCTAVO_TRY_VOID(check_etag(etag, current->etag));
  OCTAVO_TRY(auto next, current->replaced_by(body));
  const bool changes_store = next.analytical_ttl_s != current->analytical_ttl_s;
  if (changes_store) OCTAVO_TRY_VOID(check_analytics(engine_, next));
  next.etag = new_etag();
  next.modified_s = unix_now_s();
  OCTAVO_TRY_VOID(opened->set_definition(next.to_stored()));
  if (changes_store) {
    OCTAVO_TRY(auto* const services, query::required(query::services_of(*opened)));
    if (auto* const store = analytics::Analytics::of(services->attachment())) store->container_changed();
  }
  return next;
}

Expected<void> Registry::delete_container(std::string_view database_id, std::string_view id,
                                          const std::optional<std::string>& etag) {
  std::lock_guard<std::mutex> lock(changes_);
  const std::string name = std::string(database_id) + '/' + std::string(id);
  OCTAVO_TRY(const auto stored, stored_container(name));
  OCTAVO_TRY_VOID(check_etag(etag, stored.etag));
  return engine_.delete_database(name);
}

Expected<std::vector<Offer>> Registry::offers() const {
  std::vector<Offer> offers;
  OCTAVO_TRY(const auto owners, databases("", SIZE_MAX));
  for (const auto& owner : owners) {
    if (owner.throughput) offers.push_back(Offer::of(owner));
    OCTAVO_TRY(const auto inside, containers(owner.id, "", SIZE_MAX));
    for (const auto& container : inside) {
      if (container.throughput) offers.push_back(Offer::of(owner.id, container));
    }
  }
  return offers;
}

Expected<void> Registry::measure(Offer& offer) const {
  std::vector<std::string> names;
  if (offer.container.empty()) {
    OCTAVO_TRY(const auto inside, containers(offer.database, "", SIZE_MAX));
    for (const auto& container : inside) {
      if (!container.throughput) names.push_back(container.id);
    }
  } else {
    names.push_back(offer.container);
  }
  offer.stored_bytes = 0;
  for (const std::string& name : names) {
    OCTAVO_TRY(const auto opened, engine_.open_database(offer.database + '/' + name));
    OCTAVO_TRY(const auto statistics, opened->statistics());
    offer.stored_bytes += statistics.external_bytes;
    offer.replace_pending = offer.replace_pending || is_growing(*opened);
  }
  return {};
}

Expected<Offer> Registry::replace_offer(std::string_view id, Throughput throughput,
                                        const std::optional<std::string>& etag) {
  std::lock_guard<std::mutex> lock(changes_);
  OCTAVO_TRY(auto all, offers());
  const auto found = std::ranges::find(all, id, &Offer::id);
  if (found == all.end()) return fail(ErrorCode::not_found, "");
  OCTAVO_TRY_VOID(check_etag(etag, found->etag));
  OCTAVO_TRY_VOID(measure(*found));
  OCTAVO_TRY_VOID(check_lowest(throughput, found->stored_bytes));
  if (found->container.empty()) {
    OCTAVO_TRY(auto owner, database(found->database));
    if (!owner) return fail(ErrorCode::not_found, "");
    owner->throughput = throughput;
    owner->offer_etag = new_etag();
    OCTAVO_TRY_VOID(store(*owner));
    engine_.shared_budgets().set_rate(owner->id, throughput.highest());
    Offer replaced = Offer::of(*owner);
    replaced.stored_bytes = found->stored_bytes;
    return replaced;
  }
  OCTAVO_TRY(const auto opened, engine_.open_database(found->database + '/' + found->container));
  OCTAVO_TRY(const auto current, container_of(*opened));
  ContainerDefinition next = *current;
  next.throughput = throughput;
  next.offer_etag = new_etag();
  OCTAVO_TRY_VOID(opened->set_definition(next.to_stored()));
  Offer replaced = Offer::of(found->database, next);
  replaced.stored_bytes = found->stored_bytes;
  replaced.replace_pending = is_growing(*opened);
  return replaced;
}

}  // namespace octavo::api::cosmos

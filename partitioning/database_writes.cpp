// The part of Database that distributes writes to the physical partitions.
#include <algorithm>
#include <new>

#include "base/assert.h"
#include "base/completion.h"
#include "base/memory_retry.h"
#include "partitioning/database.h"
#include "partitioning/engine.h"
#include "partitioning/throughput/request_charge.h"
#include "storage/partition/write_successor.h"

namespace octavo::partitioning {
using storage::DocumentWrite;
using storage::PhysicalPartition;

namespace {

/// Collects the results of parts that are written in parallel, in the order of the request.
struct Gather {
  PhysicalPartition::DocumentResults results;
  std::atomic<std::size_t> missing{0};
  PhysicalPartition::Completion done;
};

struct PurgeGather {
  std::vector<std::vector<storage::Revision>> purged;
  std::mutex mutex;
  std::optional<Error> failure;
  std::atomic<std::size_t> missing{0};
  PhysicalPartition::PurgeCompletion done;

  void end_part() {
    if (missing.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (failure) {
      done(std::unexpected(*std::move(failure)));
    } else {
      done(std::move(purged));
    }
  }
};

/// More is packed on a worker, as it takes milliseconds.
constexpr std::size_t packed_here_bytes_max = 128ULL << 10;

std::size_t bytes_to_pack(const std::vector<DocumentWrite>& writes) {
  std::size_t bytes = 0;
  for (const DocumentWrite& write : writes) bytes += storage::may_pack(write.body) ? write.body.size() : 0;
  return bytes;
}

// The partition key is the beginning of the id, which must not move afterwards.
void set_partition_key(DocumentWrite& write, std::size_t key_bytes) {
  write.partition_key = std::string_view(write.id).substr(0, key_bytes);
}

}  // namespace

bool Database::packs_bodies() const {
  return engine_.settings().compression != config::Compression::none;
}

void Database::pack(DocumentWrite& write) const {
  if (packs_bodies() && storage::may_pack(write.body)) write.packed = storage::pack_body(write.body);
}

Task<PhysicalPartition::DocumentResults> Database::write(std::vector<DocumentWrite> writes,
                                                         storage::WriteOptions options) {
  const auto keep_alive = shared_from_this();
  // An id stays where it is until its write is sent to a partition, when it has been located.
  std::vector<DocumentTarget> targets;
  targets.reserve(writes.size());
  for (const DocumentWrite& write : writes) targets.push_back(target_of(write.id));
  co_return co_await write(targets, std::move(writes), options);
}

Task<PhysicalPartition::DocumentResults> Database::write(std::span<const DocumentTarget> targets,
                                                         std::vector<DocumentWrite> writes,
                                                         storage::WriteOptions options) {
  OCTAVO_ASSERT(targets.size() == writes.size());
  using Results = PhysicalPartition::DocumentResults;
  const auto keep_alive = shared_from_this();
  for (std::size_t i = 0; i < writes.size(); ++i) {
    OCTAVO_ASSERT(targets[i].partition_key() == partition_key_of(writes[i].id, record_.partitioned));
    set_partition_key(writes[i], targets[i].partition_key().size());
  }
  if (options.atomic) {
    for (const DocumentWrite& write : writes) {
      if (write.partition_key != writes.front().partition_key || write.partition_key.empty()) {
        const Error error{ErrorCode::bad_request, "All documents of an atomic batch must be of one partition.", {}};
        co_return Results(writes.size(), std::unexpected(error));
      }
    }
  }
  if (writes.empty()) co_return Results{};
  if (const std::size_t bytes = packs_bodies() ? bytes_to_pack(writes) : 0; bytes > 0) {
    const auto pack_all = [&] {
      for (DocumentWrite& write : writes) pack(write);
    };
    if (bytes < packed_here_bytes_max) {
      pack_all();
    } else {
      co_await engine_.workers().run_patiently(pack_all);
    }
  }
  co_return co_await await_completion<Results>(
      [&](PhysicalPartition::Completion done) { scatter(targets, writes, options, done); });
}

// Moves from `writes` and `done`, or throws std::bad_alloc and leaves them unchanged. A physical partition that is
// split meanwhile forwards its writes. `targets`: empty if a physical partition forwards the writes, which were
// admitted before.
void Database::scatter(std::span<const DocumentTarget> targets, std::vector<DocumentWrite>& writes,
                       storage::WriteOptions options, PhysicalPartition::Completion& done) {
  OCTAVO_ASSERT(!writes.empty());
  const PartitionMap& map = partition_map();
  const auto ask = [&](std::size_t partition_id) {
    return targets.empty() ? Expected<void>() : meter_.admit(partition_id);
  };
  std::vector<std::size_t> partition_ids(writes.size());
  for (std::size_t i = 0; i < writes.size(); ++i) {
    partition_ids[i] = targets.empty() ? locate_document(map, writes[i].id) : targets[i].locate(map);
  }
  if (std::ranges::all_of(partition_ids, [&](std::size_t other) { return other == partition_ids.front(); })) {
    if (auto admitted = ask(partition_ids.front()); !admitted) {
      PhysicalPartition::DocumentResults results(writes.size(), std::unexpected(std::move(admitted).error()));
      done(std::move(results));
      return;
    }
    // The id moves with its write; views into it stay valid, as the vector's elements do not move.
    map.partition(partition_ids.front())->write(std::move(writes), options, std::move(done));
    return;
  }
  // Allocates everything first: once one part is sent, the others must follow.
  auto gather = std::make_shared<Gather>();
  gather->results.assign(writes.size(), storage::WrittenDocument{});
  std::vector<std::vector<std::size_t>> positions(map.partition_id_end());
  for (std::size_t i = 0; i < writes.size(); ++i) positions[partition_ids[i]].push_back(i);
  for (std::size_t p = 0; p < positions.size(); ++p) {
    if (positions[p].empty()) continue;
    if (const auto admitted = ask(p); !admitted) {
      for (const std::size_t i : positions[p]) gather->results[i] = std::unexpected(admitted.error());
      positions[p].clear();
    }
  }
  std::vector<std::vector<DocumentWrite>> parts(positions.size());
  std::vector<PhysicalPartition::Completion> gatherers(positions.size());
  for (std::size_t p = 0; p < positions.size(); ++p) {
    if (positions[p].empty()) continue;
    parts[p].reserve(positions[p].size());
    gather->missing.fetch_add(1, std::memory_order_relaxed);
    gatherers[p] = [gather, where = positions[p]](PhysicalPartition::DocumentResults part) {
      OCTAVO_ASSERT(part.size() == where.size());
      for (std::size_t i = 0; i < part.size(); ++i) gather->results[where[i]] = std::move(part[i]);
      if (gather->missing.fetch_sub(1, std::memory_order_acq_rel) == 1) gather->done(std::move(gather->results));
    };
  }
  if (gather->missing.load(std::memory_order_relaxed) == 0) {
    done(std::move(gather->results));
    return;
  }
  gather->done = std::move(done);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (const std::size_t i : positions[p]) parts[p].push_back(std::move(writes[i]));
    // Short ids are stored inside the string object, so views into them must be set again.
    for (DocumentWrite& write : parts[p]) set_partition_key(write, write.partition_key.size());
    if (gatherers[p]) map.partition(p)->write(std::move(parts[p]), options, std::move(gatherers[p]));
  }
}

Task<Expected<void>> Database::run_transaction(DocumentTarget target, PhysicalPartition::TransactionTask task,
                                               std::size_t bytes, bool admitted) {
  const auto keep_alive = shared_from_this();
  const std::size_t partition_id = locate(target);
  if (!admitted) OCTAVO_CO_TRY_VOID(meter_.admit(partition_id));
  PhysicalPartition& partition = *partition_map().partition(partition_id);
  std::string key(target.partition_key());
  co_return co_await await_completion<Expected<void>>(
      [&](auto done) { partition.run_transaction(std::move(task), std::move(key), bytes, std::move(done)); });
}

Task<Expected<void>> Database::run_transaction_in(std::size_t partition_id, PhysicalPartition::TransactionTask task,
                                                  std::size_t bytes) {
  const auto keep_alive = shared_from_this();
  OCTAVO_CO_TRY_VOID(meter_.admit(partition_id));
  PhysicalPartition& partition = *partition_map().partition(partition_id);
  co_return co_await await_completion<Expected<void>>(
      [&](auto done) { partition.run_transaction(std::move(task), {}, bytes, std::move(done)); });
}

Expected<void> Database::write_unacknowledged(const DocumentTarget& target, DocumentWrite write) {
  if (deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  const std::size_t partition_id = locate(target);
  OCTAVO_TRY_VOID(meter_.admit(partition_id));
  PhysicalPartition& partition = *partition_map().partition(partition_id);
  // Called after the request, whose id the target refers to.
  auto spend_later = [keep_alive = shared_from_this(), piece = unacknowledged_.accept(), target, id = write.id,
                      bytes = write.body.size()](const auto& results) {
    const auto& written = results.front();
    keep_alive->meter_.spend(
        target.referring_to_id(id),
        written ? charge_of_write({.body_bytes = bytes, .index_rows = written->index_rows}) : charge_of_miss());
  };
  if (write.body.size() < packed_here_bytes_max) pack(write);
  std::vector<DocumentWrite> one;
  one.push_back(std::move(write));
  OCTAVO_ASSERT(target.partition_key() == partition_key_of(one.front().id, record_.partitioned));
  set_partition_key(one.front(), target.partition_key().size());
  return partition.try_write(std::move(one), {}, std::move(spend_later));
}

Task<Expected<std::uint64_t>> Database::write_local(storage::LocalDocumentWrite write) {
  const auto keep_alive = shared_from_this();
  const std::string id = write.id;
  co_return co_await write_local(target_of(id), std::move(write));
}

Task<Expected<std::uint64_t>> Database::write_local(DocumentTarget target, storage::LocalDocumentWrite write) {
  const auto keep_alive = shared_from_this();
  PhysicalPartition& partition = *partition_map().partition(locate(target));
  co_return co_await await_completion<Expected<std::uint64_t>>(
      [&](auto done) { partition.write_local(std::move(write), std::move(done)); });
}

Task<Expected<std::vector<std::vector<storage::Revision>>>> Database::purge(
    std::vector<storage::PurgeRequest> requests) {
  using Purged = Expected<std::vector<std::vector<storage::Revision>>>;
  const auto keep_alive = shared_from_this();
  co_return co_await await_completion<Purged>(
      [&](PhysicalPartition::PurgeCompletion done) { scatter_purge(requests, done); });
}

// Splits the requests among the physical partitions, as scatter() does for writes.
void Database::scatter_purge(std::vector<storage::PurgeRequest>& requests, PhysicalPartition::PurgeCompletion& done) {
  const PartitionMap& map = partition_map();
  auto gather = std::make_shared<PurgeGather>();
  gather->purged.resize(requests.size());
  std::vector<std::vector<std::size_t>> positions(map.partition_id_end());
  for (std::size_t i = 0; i < requests.size(); ++i) positions[locate_document(map, requests[i].id)].push_back(i);
  std::vector<std::vector<storage::PurgeRequest>> parts(positions.size());
  std::vector<PhysicalPartition::PurgeCompletion> gatherers(positions.size());
  for (std::size_t p = 0; p < positions.size(); ++p) {
    if (positions[p].empty()) continue;
    parts[p].reserve(positions[p].size());
    gather->missing.fetch_add(1, std::memory_order_relaxed);
    gatherers[p] = [gather, where = positions[p]](auto&& part) {
      if (part) {
        OCTAVO_ASSERT(part->size() == where.size());
        for (std::size_t i = 0; i < part->size(); ++i) gather->purged[where[i]] = std::move((*part)[i]);
      } else {
        const std::lock_guard lock(gather->mutex);
        if (!gather->failure) gather->failure = std::forward<decltype(part)>(part).error();
      }
      gather->end_part();
    };
  }
  if (requests.empty()) {
    done(std::move(gather->purged));
    return;
  }
  gather->done = std::move(done);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (const std::size_t i : positions[p]) parts[p].push_back(std::move(requests[i]));
    for (auto& request : parts[p]) request.partition_key = partition_key_of(request.id, record_.partitioned);
    if (gatherers[p]) map.partition(p)->purge(std::move(parts[p]), std::move(gatherers[p]));
  }
}

/// Forwards the writes for a partition that was split to those that replaced it.
class Database::Successor final : public storage::WriteSuccessor {
 public:
  explicit Successor(std::weak_ptr<Database> database) : database_(std::move(database)) {}

  void write(std::vector<DocumentWrite> writes, storage::WriteOptions options,
             PhysicalPartition::Completion done) override {
    const auto database = database_.lock();
    until_memory_suffices([&] {
      if (database) return database->scatter({}, writes, options, done);
      PhysicalPartition::DocumentResults results(writes.size(), no_database());
      done(std::move(results));
    });
  }

  void write_local(storage::LocalDocumentWrite write, PhysicalPartition::LocalCompletion done) override {
    if (const auto partition = partition_of([&](Database& database) { return database.locate_document(write.id); })) {
      partition->write_local(std::move(write), std::move(done));
    } else {
      done(no_database());
    }
  }

  void purge(std::vector<storage::PurgeRequest> requests, PhysicalPartition::PurgeCompletion done) override {
    const auto database = database_.lock();
    until_memory_suffices([&] {
      if (database) return database->scatter_purge(requests, done);
      done(no_database());
    });
  }

  void run_transaction(PhysicalPartition::TransactionTask task, std::string partition_key, std::size_t bytes,
                       std::move_only_function<void(Expected<void>)> done) override {
    const auto locate = [&](Database& database) { return database.locate_partition_key(partition_key); };
    if (const auto partition = partition_of(locate)) {
      partition->run_transaction(std::move(task), std::move(partition_key), bytes, std::move(done));
    } else {
      done(no_database());
    }
  }

 private:
  static std::unexpected<Error> no_database() { return fail(ErrorCode::not_found, "Database does not exist."); }

  template <class Locate>
  std::shared_ptr<PhysicalPartition> partition_of(Locate locate) const {
    const auto database = database_.lock();
    std::shared_ptr<PhysicalPartition> partition;
    if (!database) return partition;
    until_memory_suffices([&] { partition = database->partition_map().partition(locate(*database)); });
    return partition;
  }

  const std::weak_ptr<Database> database_;
};

std::shared_ptr<storage::WriteSuccessor> Database::successor() {
  return std::make_shared<Successor>(weak_from_this());
}

}  // namespace octavo::partitioning

#include "query/database/expiry.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "base/unix_time.h"
#include "partitioning/engine.h"
#include "partitioning/keys/partition_key.h"
#include "query/index/raw_field.h"
#include "query/json/number.h"

namespace octavo::query {

namespace {

using std::chrono::milliseconds;

/// Checks again after this time, as new documents may expire before all others.
constexpr milliseconds walk_interval{5'000};
constexpr milliseconds while_busy{100};
constexpr std::size_t deletions_per_slice = 500;
constexpr std::size_t scheduled_per_slice = 5'000;
/// If this many bytes are waiting to be written, deleting waits, too.
constexpr std::size_t busy_bytes = 16ULL << 20;

milliseconds until(std::int64_t time_s) {
  using namespace std::chrono;
  const auto now_ms = duration_cast<milliseconds>(system_clock::now().time_since_epoch());
  return std::max(milliseconds{0}, seconds(time_s) - now_ms);
}

class DefinedTimeToLive final : public storage::TimeToLive {
 public:
  explicit DefinedTimeToLive(std::int64_t default_s) : default_s_(default_s) {}

  std::optional<std::int64_t> expires_s(const storage::DocumentView& document) const override {
    if (storage::is_design_id(document.id)) return std::nullopt;
    static const FieldPath path = FieldPath::parse("ttl").value();
    std::int64_t seconds = default_s_;
    if (const auto raw = find_raw_field(document.body, path); !raw.empty()) {
      const auto own = whole_number(raw);
      if (own && *own >= -1 && *own != 0) seconds = *own;
    }
    std::int64_t expiration_s = 0;
    // Documents of the CouchDB API may contain any number: one beyond the end of time means forever.
    if (seconds < 0 || __builtin_add_overflow(document.modified_s, seconds, &expiration_s)) return std::nullopt;
    return expiration_s;
  }
  std::int64_t identity() const override { return default_s_; }

 private:
  std::int64_t default_s_;
};

}  // namespace

std::shared_ptr<const storage::TimeToLive> time_to_live(std::int64_t default_s) {
  return std::make_shared<DefinedTimeToLive>(default_s);
}

/// Progress of the walks and of the writes that they began.
struct Expiration::Progress {
  std::mutex mutex;
  std::set<std::size_t> busy;        ///< partition ids with a pending write of the walk
  std::uint64_t failures = 0;        ///< writes that failed so far
  Expiration* expiration = nullptr;  ///< null: stopped
  partitioning::ChangeNotifier changed;

  bool begin(std::size_t partition_id) {
    const std::lock_guard lock(mutex);
    return expiration != nullptr && busy.insert(partition_id).second;
  }

  void end(std::size_t partition_id, bool done) {
    {
      const std::lock_guard lock(mutex);
      busy.erase(partition_id);
      if (!done) ++failures;
      // A failed write is retried with the next walk.
      if (expiration != nullptr && done) expiration->walking_.run_now();
    }
    changed.notify_all();
  }

  std::optional<std::uint64_t> failures_unless_stopped() {
    const std::lock_guard lock(mutex);
    return expiration != nullptr ? std::optional(failures) : std::nullopt;
  }
};

Expiration::Expiration(partitioning::Database& database)
    : database_(database),
      progress_(std::make_shared<Progress>()),
      walking_(database.engine().workers().pool(), [this] { return walk(); }) {
  progress_->expiration = this;
}

void Expiration::set_default(std::optional<std::int64_t> default_s) {
  const auto rule = default_s ? time_to_live(*default_s) : nullptr;
  for (const auto& partition : database_.partition_map().partitions()) {
    if (partition) partition->set_time_to_live(rule);
  }
  wanted_ = rule != nullptr;
  if (rule != nullptr) walking_.start(walk_interval);
}

void Expiration::stop() {
  {
    const std::lock_guard lock(progress_->mutex);
    progress_->expiration = nullptr;
  }
  walking_.stop();
  progress_->changed.notify_all();
}

std::optional<milliseconds> Expiration::walk() {
  if (!wanted_) return std::nullopt;
  milliseconds pause = walk_interval;
  for (const std::size_t partition_id : database_.partition_ids()) pause = std::min(pause, advance(partition_id));
  return pause;
}

// Begins the next write in one physical partition, if there is anything to do, or returns when to check again.
milliseconds Expiration::advance(std::size_t partition_id) {
  auto& partition = database_.physical_partition(partition_id);
  if (partition.queued_bytes() > busy_bytes) return while_busy;
  Expected<storage::Snapshot::Expired> expired;
  {
    const auto snapshot = database_.snapshot(partition_id);
    if (!snapshot) return walk_interval;
    expired = snapshot->expired_documents(deletions_per_slice);
  }
  if (!expired) {
    spdlog::warn("database {}: cannot tell which documents have expired: {}", database_.name(),
                 reason_of(expired.error()));
    return walk_interval;
  }
  if (expired->whole && expired->documents.empty()) {
    return expired->next_expiration_s ? until(*expired->next_expiration_s) : walk_interval;
  }
  if (!progress_->begin(partition_id)) return walk_interval;
  try {
    if (expired->whole) {
      delete_documents(partition_id, expired->documents);
    } else {
      partition.make_expiry_schedule(scheduled_per_slice,
                                     [progress = progress_, partition_id](const Expected<bool>& more) {
                                       progress->end(partition_id, more.has_value());
                                     });
    }
  } catch (const std::bad_alloc&) {
    progress_->end(partition_id, false);
  }
  return walk_interval;
}

void Expiration::delete_documents(std::size_t partition_id,
                                  std::vector<storage::Snapshot::Expired::Document>& documents) {
  std::vector<storage::DocumentWrite> deletions;
  deletions.reserve(documents.size());
  for (auto& document : documents) {
    storage::DocumentWrite deletion;
    deletion.id = std::move(document.id);
    deletion.deleted = true;
    deletion.is_expiry = true;
    deletion.parent = document.revision;  // a document that was written again meanwhile stays
    deletion.body = "{}";
    deletions.push_back(std::move(deletion));
  }
  const bool partitioned = database_.partitioned();
  for (auto& deletion : deletions) deletion.partition_key = partitioning::partition_key_of(deletion.id, partitioned);
  database_.physical_partition(partition_id)
      .write(std::move(deletions), {}, [progress = progress_, partition_id](const auto& results) {
        progress->end(partition_id, std::ranges::all_of(results, [](const auto& result) {
                        return result || result.error().code == ErrorCode::conflict;
                      }));
      });
}

Expected<bool> Expiration::is_deleted_until(std::int64_t time_s) const {
  for (const std::size_t partition_id : database_.partition_ids()) {
    OCTAVO_TRY(const storage::Snapshot snapshot, database_.snapshot(partition_id));
    OCTAVO_TRY(const auto expired, snapshot.expired_documents(1));
    if (!expired.whole) return false;
    if (!expired.documents.empty() && expired.documents.front().expiration_s <= time_s) return false;
  }
  return true;
}

Task<Expected<void>> Expiration::wait_until_deleted(std::chrono::steady_clock::time_point deadline) {
  const auto keep_alive = database_.shared_from_this();
  const auto progress = progress_;
  const std::int64_t time_s = unix_now_s();
  std::optional<std::uint64_t> failures_before;
  while (wanted_) {
    const std::uint64_t epoch = progress->changed.epoch();
    OCTAVO_CO_TRY(const bool deleted, is_deleted_until(time_s));
    if (deleted) break;
    const auto failures = progress->failures_unless_stopped();
    if (!failures) co_return fail(ErrorCode::not_found, "Database does not exist.");
    if (!failures_before) failures_before = failures;
    if (*failures != *failures_before) break;
    walking_.run_now();
    const bool notified = co_await progress->changed.wait(epoch, deadline);
    if (!notified) {
      co_return fail(ErrorCode::timeout, "Expired documents are still being deleted; try again later.");
    }
  }
  co_return Expected<void>{};
}

}  // namespace octavo::query

#include "query/index/expiry.h"

#include <algorithm>
#include <charconv>

#include "partitioning/engine.h"
#include "partitioning/partition_key.h"
#include "query/index/raw_field.h"

namespace octavo::query {

namespace {

constexpr std::chrono::milliseconds kWalkInterval{5'000};
constexpr std::chrono::milliseconds kBetweenSlices{2};
constexpr int kRestFactor = 10;
constexpr std::size_t kRowsPerSlice = 2'000;
/// With this much waiting to be written, deleting waits too.
constexpr std::size_t kBusyBytes = 16ULL << 20;

class DefinedTimeToLive final : public storage::TimeToLive {
 public:
  explicit DefinedTimeToLive(std::int64_t default_s) : default_s_(default_s) {}

  std::optional<std::int64_t> expires_s(const storage::DocumentView& document) const override {
    if (storage::is_design_id(document.id)) return std::nullopt;
    static const FieldPath path = FieldPath::parse("ttl").value();
    std::int64_t seconds = default_s_;
    if (const auto raw = find_raw_field(document.body, path); !raw.empty()) {
      std::int64_t own = 0;
      const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), own);
      if (error == std::errc{} && end == raw.data() + raw.size() && own >= -1 && own != 0) seconds = own;
    }
    std::int64_t end_s = 0;
    // Documents of the Couch API may say any number: beyond the end of time is for ever.
    if (seconds < 0 || __builtin_add_overflow(document.modified_s, seconds, &end_s)) return std::nullopt;
    return end_s;
  }

 private:
  std::int64_t default_s_;
};

}  // namespace

std::shared_ptr<const storage::TimeToLive> time_to_live(std::int64_t default_s) {
  return std::make_shared<DefinedTimeToLive>(default_s);
}

Expiration::Expiration(partitioning::Database& database)
    : database_(database), walking_(database.engine().workers(), [this] { return walk(); }) {}

void Expiration::set_default(std::optional<std::int64_t> default_s) {
  const auto rule = default_s ? time_to_live(*default_s) : nullptr;
  for (const auto& partition : database_.partition_map().partitions()) {
    if (partition) partition->set_time_to_live(rule);
  }
  wanted_ = rule != nullptr;
  if (rule != nullptr) walking_.start(kWalkInterval);
}

std::optional<std::chrono::milliseconds> Expiration::walk() {
  if (!wanted_) return std::nullopt;
  if (walked_ == 0 && !next_) begun_ = Clock::now();
  const std::vector<std::size_t>& places = database_.places();
  // When one was split meanwhile, the others are walked twice, or the next time.
  if (walked_ < places.size()) delete_expired(places[walked_]);
  if (!next_) ++walked_;
  if (walked_ < places.size()) return kBetweenSlices;
  walked_ = 0;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun_);
  return std::max(kWalkInterval, took * kRestFactor);
}

void Expiration::delete_expired(std::size_t place) {
  auto& partition = database_.physical_partition(place);
  if (partition.queued_bytes() > kBusyBytes) return;
  std::vector<storage::DocumentWrite> deletions;
  {
    const auto snapshot = database_.snapshot(place);
    if (!snapshot) {
      next_.reset();
      return;
    }
    const std::string start = next_.value_or("");
    for (auto& expired : snapshot->expired_documents(start, kRowsPerSlice, next_)) {
      storage::DocumentWrite deletion;
      deletion.id = std::move(expired.id);
      deletion.deleted = true;
      deletion.parent = expired.revision;  // what was written anew meanwhile stays
      deletion.body = "{}";
      deletions.push_back(std::move(deletion));
    }
  }
  if (deletions.empty()) return;
  const bool partitioned = database_.partitioned();
  for (auto& deletion : deletions) deletion.partition_key = partitioning::partition_key_of(deletion.id, partitioned);
  partition.write(std::move(deletions), {}, [](const auto&) {});
}

}  // namespace octavo::query

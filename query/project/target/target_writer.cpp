#include "query/project/target/target_writer.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "base/assert.h"
#include "base/jobs/started_tasks.h"
#include "partitioning/keys/partition_key.h"
#include "partitioning/throughput/request_charge.h"

namespace octavo::query::project {

namespace {

using storage::DocumentWrite;

DocumentWrite document_write(RowWrite row, std::uint32_t owner) {
  DocumentWrite write;
  write.id = std::move(row.id);
  write.deleted = row.deleted;
  write.base = storage::WriteBase::any_winner;
  write.body = row.deleted ? "{}" : std::move(row.body);
  write.owner = owner;
  return write;
}

// Only this row cannot be written: the others can.
bool is_refusal(const Error& error) {
  return error.code == ErrorCode::conflict || error.code == ErrorCode::unique_key_violated ||
         error.code == ErrorCode::forbidden || error.code == ErrorCode::partition_full;
}

/// The writes of one physical partition, and what became of them.
struct Part {
  std::vector<DocumentWrite> writes;
  std::vector<std::string> ids;
  std::vector<std::size_t> bytes;
  storage::PhysicalPartition::DocumentResults results;
};

}  // namespace

Expected<WrittenRows> write_rows(partitioning::Database& target, std::uint32_t owner, std::vector<RowWrite> writes) {
  const bool partitioned = target.partitioned();
  const partitioning::PartitionMap& map = target.partition_map();
  std::map<std::size_t, Part> parts;
  for (RowWrite& row : writes) {
    Part& part = parts[target.locate_document(map, row.id)];
    part.ids.push_back(row.id);
    part.bytes.push_back(row.deleted ? 0 : row.body.size());
    part.writes.push_back(document_write(std::move(row), owner));
  }
  const StartedTasks writing(parts, [&](auto& one, auto done) {
    Part& part = one.second;
    for (DocumentWrite& write : part.writes) {
      // The key is a view into the id, which does not move from here on.
      write.partition_key = partitioning::partition_key_of(write.id, partitioned);
      target.pack(write);
    }
    // A partition that is split meanwhile passes them on.
    map.partition(one.first)->write(std::move(part.writes), {}, [&part, done](auto results) {
      part.results = std::move(results);
      done();
    });
  });
  writing.wait();
  WrittenRows written;
  std::optional<Error> failure;
  for (auto& [partition_id, part] : parts) {
    OCTAVO_ASSERT(part.results.size() == part.ids.size());
    bool is_first = true;
    for (std::size_t i = 0; i < part.ids.size(); ++i) {
      const auto& result = part.results[i];
      if (!result) {
        if (is_refusal(result.error())) {
          written.refused.push_back(std::move(part.ids[i]));
        } else if (!failure) {
          failure = result.error();
        }
        continue;
      }
      if (result->sequence == 0) continue;
      const partitioning::WriteWork work{part.bytes[i], result->index_rows};
      const double units = std::exchange(is_first, false) ? partitioning::charge_of_write(work)
                                                          : partitioning::charge_of_further_row(work);
      target.meter().spend(target.target_of(part.ids[i]), units);
      written.request_units += units;
    }
  }
  if (failure) return std::unexpected(*std::move(failure));
  OCTAVO_TRY_VOID(target.make_durable());
  return written;
}

bool wait_for_throughput(const partitioning::Database& target, const std::atomic<bool>& stopping) {
  const auto now = [] { return std::chrono::steady_clock::now(); };
  constexpr std::chrono::seconds patience{1};
  // Shutting down waits for this long.
  constexpr std::chrono::milliseconds step_max{200};
  const auto until = now() + patience;
  while (!stopping.load(std::memory_order_relaxed)) {
    std::chrono::milliseconds longest{0};
    for (const std::size_t partition_id : target.partition_ids()) {
      const auto admitted = target.meter().admit(partition_id);
      if (!admitted) longest = std::max(longest, std::chrono::milliseconds(admitted.error().retry_after_ms));
    }
    if (longest.count() == 0) return true;
    if (now() >= until) return false;
    std::this_thread::sleep_for(std::min(longest, step_max));
  }
  return false;
}

}  // namespace octavo::query::project

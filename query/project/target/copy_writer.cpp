#include "query/project/target/copy_writer.h"

#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/jobs/start_all.h"
#include "partitioning/keys/partition_key.h"
#include "storage/partition/partition_transaction.h"

namespace octavo::query::project {

namespace {

/// What one physical partition takes.
struct CopiedPart {
  std::vector<storage::DocumentCopy> copies;
  std::vector<std::string> removed;
  std::size_t bytes = 0;
  std::optional<Error> refusal;
  Expected<void> result;

  // On the writer's thread.
  Expected<bool> write(storage::PartitionTransaction& transaction, bool partitioned) {
    refusal.reset();
    for (const std::string& id : removed) {
      OCTAVO_TRY_VOID(transaction.remove(id, partitioning::partition_key_of(id, partitioned)));
    }
    for (storage::DocumentCopy& copy : copies) {
      copy.partition_key = partitioning::partition_key_of(copy.id, partitioned);
      OCTAVO_TRY(auto refused, transaction.adopt(copy));
      if (!refused || refusal) continue;
      refusal = std::move(refused);
      refusal->reason = fmt::format("The document '{}' cannot be written: {}", copy.id.substr(0, shown_id_bytes_max),
                                    refusal->reason);
    }
    return true;
  }
};

}  // namespace

Expected<void> write_copies(partitioning::Database& target, std::vector<storage::DocumentCopy> copies,
                            std::vector<std::string> removed) {
  const bool partitioned = target.partitioned();
  const partitioning::PartitionMap& map = target.partition_map();
  std::map<std::size_t, CopiedPart> parts;
  for (storage::DocumentCopy& copy : copies) {
    CopiedPart& part = parts[target.locate_document(map, copy.id)];
    part.bytes += copy.bytes();
    part.copies.push_back(std::move(copy));
  }
  for (std::string& id : removed) {
    CopiedPart& part = parts[target.locate_document(map, id)];
    part.bytes += 2 * id.size();
    part.removed.push_back(std::move(id));
  }
  start_all_and_wait(parts, [&](auto& one, auto done) {
    CopiedPart& part = one.second;
    auto task = [&part, partitioned](storage::PartitionTransaction& transaction) {
      return part.write(transaction, partitioned);
    };
    map.partition(one.first)->run_transaction(std::move(task), {}, part.bytes, [&part, done](Expected<void> result) {
      part.result = std::move(result);
      done();
    });
  });
  for (auto& [partition_id, part] : parts) {
    if (!part.result) return std::move(part.result);
  }
  for (auto& [partition_id, part] : parts) {
    if (part.refusal) return std::unexpected(*std::move(part.refusal));
  }
  return target.make_durable();
}

}  // namespace octavo::query::project

#include "query/project/target/copy_writer.h"

#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/jobs/started_tasks.h"
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
                                    reason_of(*refusal));
    }
    return true;
  }
};

}  // namespace

/// Documents for some physical partitions that write them now.
class CopyWriter::Batch {
 public:
  Batch(const partitioning::Database& target, const partitioning::PartitionMap& map,
        std::vector<storage::DocumentCopy> copies, std::vector<std::string> removed)
      : parts_(parts_of(target, map, std::move(copies), std::move(removed))),
        writing_(parts_, [&](auto& one, auto done) {
          CopiedPart& part = one.second;
          auto task = [&part, partitioned = target.partitioned()](storage::PartitionTransaction& transaction) {
            return part.write(transaction, partitioned);
          };
          map.partition(one.first)->run_transaction(std::move(task), {}, part.bytes, [&part, done](auto result) {
            part.result = std::move(result);
            done();
          });
        }) {}

  /// Sets `refusal` to the first one, unless there was one before.
  Expected<void> wait(std::optional<Error>& refusal) {
    writing_.wait();
    for (auto& [partition_id, part] : parts_) {
      if (!part.result) return std::move(part.result);
    }
    for (auto& [partition_id, part] : parts_) {
      if (!refusal) refusal = std::move(part.refusal);
    }
    return {};
  }

 private:
  using Parts = std::map<std::size_t, CopiedPart>;  ///< by partition id

  static Parts parts_of(const partitioning::Database& target, const partitioning::PartitionMap& map,
                        std::vector<storage::DocumentCopy> copies, std::vector<std::string> removed) {
    Parts parts;
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
    return parts;
  }

  Parts parts_;
  StartedTasks writing_;  ///< uses parts_
};

CopyWriter::CopyWriter(partitioning::Database& target) : target_(target) {}

CopyWriter::~CopyWriter() = default;

Expected<void> CopyWriter::begin(std::vector<storage::DocumentCopy> copies, std::vector<std::string> removed) {
  OCTAVO_TRY_VOID(wait());
  batch_ = std::make_unique<Batch>(target_, target_.partition_map(), std::move(copies), std::move(removed));
  return {};
}

Expected<void> CopyWriter::finish() {
  OCTAVO_TRY_VOID(wait());
  return target_.make_durable();
}

Expected<void> CopyWriter::wait() {
  const auto batch = std::exchange(batch_, nullptr);
  return batch ? batch->wait(refusal_) : Expected<void>{};
}

Expected<void> write_copies(partitioning::Database& target, std::vector<storage::DocumentCopy> copies,
                            std::vector<std::string> removed) {
  CopyWriter writer(target);
  OCTAVO_TRY_VOID(writer.begin(std::move(copies), std::move(removed)));
  OCTAVO_TRY_VOID(writer.finish());
  return writer.refusal() ? std::unexpected(*writer.refusal()) : Expected<void>{};
}

}  // namespace octavo::query::project

#include "query/copy/copy_writer.h"

#include <exception>
#include <latch>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "partitioning/keys/partition_key.h"
#include "query/copy/copy_state.h"
#include "storage/partition/partition_transaction.h"

namespace octavo::query::copy {

namespace {

/// What one physical partition takes.
struct Part {
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
  std::map<std::size_t, Part> parts;
  for (storage::DocumentCopy& copy : copies) {
    Part& part = parts[target.locate_document(map, copy.id)];
    part.bytes += copy.bytes();
    part.copies.push_back(std::move(copy));
  }
  for (std::string& id : removed) {
    Part& part = parts[target.locate_document(map, id)];
    part.bytes += 2 * id.size();
    part.removed.push_back(std::move(id));
  }
  std::latch done(static_cast<std::ptrdiff_t>(parts.size()));
  std::size_t begun = 0;
  std::exception_ptr thrown;
  try {
    for (auto& [partition_id, part] : parts) {
      Part& mine = part;
      map.partition(partition_id)
          ->run_transaction(
              [&mine, partitioned](storage::PartitionTransaction& transaction) {
                return mine.write(transaction, partitioned);
              },
              {}, part.bytes,
              [&mine, &done](Expected<void> result) {
                mine.result = std::move(result);
                done.count_down();
              });
      ++begun;
    }
  } catch (...) {
    thrown = std::current_exception();
    done.count_down(static_cast<std::ptrdiff_t>(parts.size() - begun));
  }
  done.wait();  // also after an exception: the parts are stored here
  if (thrown) std::rethrow_exception(thrown);
  for (auto& [partition_id, part] : parts) {
    if (!part.result) return std::move(part.result);
  }
  for (auto& [partition_id, part] : parts) {
    if (part.refusal) return std::unexpected(*std::move(part.refusal));
  }
  return target.make_durable();
}

}  // namespace octavo::query::copy

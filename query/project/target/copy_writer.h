#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "partitioning/database.h"
#include "storage/partition/document_copy.h"

namespace octavo::query::project {

inline constexpr std::size_t shown_id_bytes_max = 200;  ///< of an id in a message

/// Writes copies to a database while the caller makes the next ones. What is there already does not change.
///
/// For one thread, not one that writes or that I/O needs: begin(), finish() and the destructor wait for the copies
/// before. Errors are those of the copies before: those of the disk, not_found, overloaded.
class CopyWriter {
 public:
  /// `target` must outlive this.
  explicit CopyWriter(partitioning::Database& target);
  ~CopyWriter();

  /// Begins to delete these documents of the target, and then to write the copies.
  Expected<void> begin(std::vector<storage::DocumentCopy> copies, std::vector<std::string> removed);
  /// Returns when all is durable, except what was refused.
  Expected<void> finish();
  /// Why a copy was not written while the others were, once finish() has returned: partition_full,
  /// unique_key_violated. nullopt: all were.
  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  class Batch;
  Expected<void> wait();

  partitioning::Database& target_;
  std::unique_ptr<Batch> batch_;  ///< what is being written
  std::optional<Error> refusal_;  ///< the first one
};

/// Begins, and returns when all of it is durable. Errors: also refusals.
Expected<void> write_copies(partitioning::Database& target, std::vector<storage::DocumentCopy> copies,
                            std::vector<std::string> removed);

}  // namespace octavo::query::project

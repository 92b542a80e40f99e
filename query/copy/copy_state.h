#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "config/settings.h"
#include "storage/lmdb/store.h"
#include "storage/partition/document_copy.h"

namespace octavo::query::copy {

/// A document of the source, as of the batch.
struct CopiedDocument {
  std::string source_id;
  /// Its id in the target. nullopt: a deleted document, which keeps the one it had, or one that can have none.
  std::optional<std::string> id;
  storage::DocumentCopy copy;  ///< under `id`; not `exists`: it is gone without a trace
};

/// What a copy knows, in a store of its own: which id each document has in the target, and how far the source's feed
/// was read.
///
/// A document may get another id while the source is copied, as its value at the new partition key may change. A
/// deletion shows only the former id. Both need to know which id it had in the target.
///
/// One thread at a time, except the numbers.
class CopyState {
 public:
  struct Options {
    std::filesystem::path folder;
    config::Durability durability = config::Durability::commit;
    storage::FaultInjector* faults = nullptr;
  };
  explicit CopyState(Options options);

  /// The numbers that are stored with each batch.
  struct Numbers {
    storage::Sequence checkpoint = 0;  ///< the source's feed was read up to here
    std::uint64_t purge_count = 0;     ///< of the source
    std::uint64_t skipped = 0;         ///< documents that can have no id in the target
  };
  /// Opens or creates the store. Errors: those of the disk, corrupted.
  Expected<void> open();
  /// Those of the last commit. Thread-safe.
  Numbers numbers() const;

  struct Batch {
    std::span<CopiedDocument> documents;  ///< each document once; gets the ids of deleted ones
    storage::Sequence checkpoint = 0;     ///< the writes of the batches before are durable up to here
    std::uint64_t purge_count = 0;
    bool keeps_ids = false;       ///< all documents have the same ids in the target
    bool has_unique_ids = false;  ///< no two documents can have the same one there; the same for all batches
  };
  /// Whether the document has this id in the target at present, for one that is not of the batch.
  using HasId = FunctionRef<Expected<bool>(std::string_view source_id, std::string_view id)>;
  /// Deletes these documents of the target, durably.
  using Remove = FunctionRef<Expected<void>(std::vector<std::string> ids)>;
  /// Stores which ids the documents of the batch have, and calls `remove` before with the ids that none has any more.
  /// The documents are to be written afterwards; those without an id are not. After a crash in between, the batch comes
  /// again. Error conflict with the word copy_collision: two documents have the same id.
  Expected<void> commit(const Batch& batch, HasId has_id, Remove remove);
  /// At most `count_max` ids of documents of the source after `after`, in order.
  Expected<std::vector<std::string>> sources_after(std::string_view after, std::size_t count_max);

  storage::Store& store() { return store_; }
  /// Removes the files. The store must not be in use.
  void remove_files();

 private:
  class Change;
  Expected<Numbers> read_numbers(const storage::Transaction& transaction) const;

  const Options options_;
  storage::Store store_;
  mutable std::mutex mutex_;  ///< guards numbers_
  Numbers numbers_;
};

}  // namespace octavo::query::copy

#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <lucene++/IndexInput.h>
#include <lucene++/IndexOutput.h>
#include <lucene++/LuceneHeaders.h>
#include <memory>
#include <mutex>
#include <string>

#include "storage/lmdb/fault_injector.h"

namespace octavo::query::search {

/// The files of one Lucene index. Lucene++'s own directories miss write errors that appear when a file is closed, and
/// keep a descriptor per open file. This one reports every error, maps files for reading and closes their descriptors
/// at once, and really syncs files to the disk.
///
/// There are no lock files: the data folder is locked as a whole, and each index has one owner in the process.
class LuceneDirectory : public Lucene::Directory {
 public:
  /// The errno of the last failed call; 0 if none failed. Outlives the directory.
  using LastError = std::shared_ptr<std::atomic<int>>;

  /// `durable`: whether sync() reaches the disk.
  LuceneDirectory(const std::filesystem::path& folder, bool durable, storage::FaultInjector* faults,
                  LastError last_error);
  ~LuceneDirectory() override;

  Lucene::HashSet<Lucene::String> listAll() override;
  bool fileExists(const Lucene::String& name) override;
  uint64_t fileModified(const Lucene::String& name) override;
  void touchFile(const Lucene::String& name) override;
  void deleteFile(const Lucene::String& name) override;
  int64_t fileLength(const Lucene::String& name) override;
  Lucene::IndexOutputPtr createOutput(const Lucene::String& name) override;
  Lucene::IndexInputPtr openInput(const Lucene::String& name) override;
  Lucene::IndexInputPtr openInput(const Lucene::String& name, int32_t buffer_size) override;
  void sync(const Lucene::String& name) override;
  void close() override;

  /// From now on no call creates, removes or syncs a file: a user that is still running, such as a background merge,
  /// must not touch the files of its successor. Open files can still be read.
  void retire();

 private:
  std::filesystem::path path(const Lucene::String& name) const;
  [[noreturn]] void fail_io(const std::string& what, int code) const;
  int fault(storage::StorageCall call) const;
  void sync_folder(const Lucene::String& name) const;

  std::filesystem::path folder_;
  bool durable_;
  storage::FaultInjector* faults_;
  LastError last_error_;
  std::mutex files_mutex_;  ///< held while a file is created or removed
  bool retired_ = false;
};

}  // namespace octavo::query::search

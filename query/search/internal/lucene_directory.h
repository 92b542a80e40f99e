#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <lucene++/LuceneHeaders.h>
#include <lucene++/IndexInput.h>
#include <lucene++/IndexOutput.h>

#include "storage/fault_injector.h"

namespace octavo::query::search {

/// The files of one Lucene index. Lucene++'s own directories miss write errors that show at the close of a file, and keep
/// a descriptor for each open file; this one reports every error, maps files for reading and closes their descriptors at
/// once, and syncs for real.
///
/// There are no lock files: the data folder is locked as a whole, and each index has one owner in the process.
class LuceneDirectory : public Lucene::Directory {
 public:
  /// `durable`: whether sync() reaches the disk.
  LuceneDirectory(const std::filesystem::path& folder, bool durable, storage::FaultInjector* faults);
  ~LuceneDirectory() override;

  Lucene::HashSet<Lucene::String> listAll() override;
  bool fileExists(const Lucene::String& name) override;
  uint64_t fileModified(const Lucene::String& name) override;
  void touchFile(const Lucene::String& name) override;
  void deleteFile(const Lucene::String& name) override;
  int64_t fileLength(const Lucene::String& name) override;
  Lucene::IndexOutputPtr createOutput(const Lucene::String& name) override;
  Lucene::IndexInputPtr openInput(const Lucene::String& name) override;
  Lucene::IndexInputPtr openInput(const Lucene::String& name, int32_t bufferSize) override;
  void sync(const Lucene::String& name) override;
  void close() override;

  /// The errno of the call that failed last; 0: none did.
  int last_error() const { return last_error_->load(); }
  void clear_error() { last_error_->store(0); }

 private:
  std::filesystem::path path(const Lucene::String& name) const;
  [[noreturn]] void fail_io(const std::string& what, int code) const;
  int fault(storage::StorageCall call) const;

  std::filesystem::path folder_;
  bool durable_;
  storage::FaultInjector* faults_;
  std::shared_ptr<std::atomic<int>> last_error_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace octavo::query::search

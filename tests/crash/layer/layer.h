//   log     := record*                              integers are little-endian
//   record  := size:u32                             of the whole record
//              kind:u16 flags:u16 sequence:u64      sequences count from 1 without a gap
//              time_ns:u64                          CLOCK_MONOTONIC; never goes back along the log
//              handle:u32 reserved:u32              handle: one per successful open
//              offset:u64 length:u64 payload
//   kind, its fields and its payload (paths are relative to the root, the root itself is empty):
//      1 open          handle, flags: 1 created by this call, 2 each write is synced (O_DSYNC, O_SYNC), 4 emptied
//                      (O_TRUNC), 8 a folder; payload: path
//      2 close         handle
//      3 write         handle, offset, length, flags: 2 it was synced before it returned; payload: the bytes
//      4 truncate      handle, or 0 and payload: path; length: the new size
//      5 allocate      handle, offset, length
//      6 rename        payload: old path NUL new path
//      7 unlink        payload: path
//      8 mkdir         payload: path
//      9 rmdir         payload: path
//     10 sync begins   handle, flags: 1 data only (fdatasync)
//     11 sync ends     handle, offset: the sequence of its beginning
//     12 writable map  handle, offset, length: the program can change the file without a call
//     13 msync         offset: address, length
//     14 unsupported   payload: the name of a call that this layer cannot describe (a hard link, for example)
//
// A record is written after the call has succeeded and before it returns; "sync begins" alone is written before the
// call. So a write is covered by a sync if its record stands before "sync begins", and is known to be on the disk once
// "sync ends" stands in the log (or its own record does, if it has flag 2). Changes of folders are recorded in the
// order in which they happen. FILE* streams opened for writing are recorded as the writes they come down to.
//
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <sys/uio.h>

#include "tests/crash/layer/fault_rules.h"
#include "tests/crash/layer/raw_calls.h"

namespace file_layer {

struct OpenFile {
  std::uint32_t handle = 0;
  bool synced = false;
  bool folder = false;
  std::string path;  ///< below the root
};

enum class Kind : std::uint16_t {
  open = 1,
  close,
  write,
  truncate,
  allocate,
  rename,
  unlink,
  mkdir,
  rmdir,
  sync_begins,
  sync_ends,
  writable_map,
  msync,
  unsupported
};

enum Flag : std::uint16_t { created_flag = 1, data_only_flag = 1, synced_flag = 2, emptied_flag = 4, folder_flag = 8 };

struct Record {
  std::uint32_t size;
  std::uint16_t kind;
  std::uint16_t flags;
  std::uint64_t sequence;
  std::uint64_t time_ns;
  std::uint32_t handle;
  std::uint32_t reserved;
  std::uint64_t offset;
  std::uint64_t length;
};
static_assert(sizeof(Record) == 48);

/// What the layer knows: the open files below the root, the log, the faults. One for the whole program. Thread-safe.
class Layer {
 public:
  static Layer& instance();

  /// The path below the root; nullopt for files elsewhere.
  std::optional<std::string> below_root(int folder, const char* path) const;
  /// The open file of a descriptor; null for those elsewhere.
  const OpenFile* file(int fd) const;
  void set_file(int fd, const OpenFile* file);
  const OpenFile* add_file(int fd, std::string path, std::uint16_t flags);

  /// Folders change and are recorded under this lock, so that the log has the changes in their order.
  std::recursive_mutex& mutex() { return mutex_; }

  /// Returns the record's sequence. A write's payload is the first `length` bytes of `parts`.
  std::uint64_t record(Kind kind, std::uint16_t flags, std::uint32_t handle, std::uint64_t offset, std::uint64_t length,
                       const iovec* parts, int count);
  std::uint64_t record(Kind kind, std::uint16_t flags, std::uint32_t handle, std::uint64_t offset, std::uint64_t length,
                       std::string_view payload = {}) {
    const iovec part{const_cast<char*>(payload.data()), payload.size()};
    return record(kind, flags, handle, offset, length, &part, 1);
  }

  FaultRules& faults() { return faults_; }
  bool active() const { return !root_.empty(); }

 private:
  static constexpr int descriptors_max = 1 << 17;

  Layer();

  std::string root_;
  FaultRules faults_;
  int log_ = -1;
  std::unique_ptr<std::atomic<const OpenFile*>[]> files_;
  std::recursive_mutex mutex_;  ///< guards the two below
  std::uint32_t last_handle_ = 0;
  std::uint64_t sequence_ = 0;
};

}  // namespace file_layer

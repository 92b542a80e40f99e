// The control file is read again at each call below the root, so that a test can change it while the program runs;
// replace it by rename, lest the program sees half of it. A missing or empty file means no faults. One rule per line:
//
//   rule    := error operation option*              a line that begins with # is a comment
//   error   := eio | enospc | edquot | enomem | emfile | erofs | delay=<milliseconds>
//   operation :=
//      write      write, pwrite, writev, pwritev, and streams; also ftruncate and fallocate that make a file grow
//      synced-write   only writes through a descriptor opened with O_DSYNC or O_SYNC: LMDB's meta pages
//      fsync | fdatasync | sync (either of them)
//      open | create (open that makes a file, mkdir) | rename | unlink (unlink, rmdir) | any
//   option  :=
//      path=<text>    only files whose path below the root contains it
//      after=<bytes>  the disk has this much space left: calls succeed until files have grown by that many bytes since
//                     the rule appeared; overwriting costs nothing. A write that only partly fits is cut short at a
//                     4 KiB border, as the kernel does. For `write` and `synced-write`.
//      skip=<count>   the first `count` calls that match pass
//      times=<count>  `count` calls fail, later ones pass
//
// The first rule that matches decides. The state of a rule (bytes, counts) lives as long as its line stays in the file.
// A fault happens instead of the call. A delay, of writes and syncs only, comes after the call, before it is recorded
// and returns: as with a slow disk, others see by then what was written. Each fault is reported by a line `operation
// path error` appended to <control file>.fired.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace file_layer {

enum class Operation { write, synced_write, fsync, fdatasync, open, create, rename, unlink };

/// The rules of one control file. Thread-safe.
class FaultRules {
 public:
  void use(std::string control_file) { control_file_ = std::move(control_file); }

  /// False when the call must fail, with failing(). May shorten `bytes` (how much is to be written), of which `growth`
  /// lie beyond the end of the file.
  bool permits(Operation what, std::string_view path, std::size_t* bytes = nullptr, std::uint64_t growth = 0);
  /// The error of this thread's last permits().
  static int failing() { return failing_; }
  /// Waits as long as this thread's last permits() was told to: after the call itself.
  static void wait();

 private:
  struct State {
    std::uint64_t grown = 0;
    std::uint64_t matched = 0;
    std::uint64_t failed = 0;
  };

  std::string read() const;
  int decide(Operation what, std::string_view path, std::size_t* bytes, std::uint64_t growth, std::uint64_t& delay_ms);
  /// Accounts for the growth; true when nothing of the write fits any more.
  static bool fills_up(std::uint64_t after, State& state, std::size_t* bytes, std::uint64_t growth);
  void report(Operation what, std::string_view path, std::string_view line) const;

  std::string control_file_;  ///< empty: no faults
  std::mutex mutex_;
  std::map<std::string, State> states_;  ///< by the rule's line
  static inline thread_local int failing_ = 0;
  static inline thread_local std::uint64_t delay_ms_ = 0;
};

}  // namespace file_layer

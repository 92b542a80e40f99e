#pragma once

#include <cerrno>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <lmdb.h>

#include "base/error.h"

namespace octavo::storage {

inline bool is_disk_full(int code) {
  return code == ENOSPC || code == EDQUOT || code == EFBIG;
}

/// Translates a code of LMDB or of the system into the engine's terms.
inline Error error_of(int code, std::string_view action, const std::filesystem::path& folder) {
  ErrorCode kind = ErrorCode::io_failure;
  switch (code) {
    case ENOSPC:
    case EDQUOT:
      return {ErrorCode::disk_full, "The disk is full: free some space and try again. Reads continue.", {}};
    case EFBIG:
      return {ErrorCode::disk_full,
              "A file may not become larger: raise the limit of the process or of the file system (RLIMIT_FSIZE). "
              "Reads continue.",
              {}};
    case ENOMEM:
      return {ErrorCode::overloaded, "The server is short of memory; try again later.", {}};
    case EMFILE:
    case ENFILE:
      return {ErrorCode::overloaded, "The server has too many files open: try again later, or raise its limit.", {}};
    case MDB_READERS_FULL:
      return {ErrorCode::overloaded, "Too many readers at once; try again.", {}};
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH:
      kind = ErrorCode::corrupted;
      break;
    case MDB_TXN_FULL:
    case MDB_CURSOR_FULL:
    case MDB_BAD_TXN:
    case MDB_BAD_DBI:
    case MDB_BAD_VALSIZE:
      kind = ErrorCode::internal;
      break;
    case ENOENT:
      kind = ErrorCode::not_found;
      break;
    default:
      break;
  }
  return {kind, fmt::format("{} in {}: {}", action, folder.string(), mdb_strerror(code)), {}};
}

}  // namespace octavo::storage

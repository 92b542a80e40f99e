#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/function_ref.h"

namespace octavo::storage {

/// On return a power loss removes none of the names in the folder, and undoes no renaming in it.
void sync_folder(const std::filesystem::path& folder, std::error_code& error) noexcept;

/// Writes a small file that only its owner may read. After a crash it has its former content, if any, or the new one;
/// the new one is durable once the folder is synced.
void replace_file(const std::filesystem::path& path, std::string_view text, std::error_code& error);

/// Replaces std::filesystem's iterators and remove_all: those of libstdc++ allocate in noexcept functions while they
/// walk folders, so that the process ends if memory is exhausted.

/// Names of the entries of a folder, in no order. After an error: those found so far. Throws std::bad_alloc.
std::vector<std::string> folder_entries(const std::filesystem::path& folder, std::error_code& error);

/// Removes a folder and its content, but not the targets of symbolic links in it; also removes a file. A missing folder
/// is not an error. After an error a part may be gone, and the next call continues. Allocates no memory.
void remove_folder(const std::filesystem::path& folder, std::error_code& error) noexcept;

/// Removes the folders in `folder` whose name is `prefix` and an identity that is not known. What cannot be removed
/// stays for the next time.
void remove_stray_folders(const std::filesystem::path& folder, std::string_view prefix,
                          FunctionRef<bool(std::string_view identity)> is_known);

}  // namespace octavo::storage

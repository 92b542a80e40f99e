#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace octavo::storage {

/// What std::filesystem's iterators and remove_all do, for a server: those of libstdc++ walk folders in functions that
/// are noexcept and ask for memory, so that where there is none they end the process.

/// Names of what is in a folder, in no order. After an error: those found so far. Throws std::bad_alloc.
std::vector<std::string> folder_entries(const std::filesystem::path& folder, std::error_code& error);

/// Removes a folder and all that is in it, but not what symbolic links in it point to; a file, too. What is not there
/// is no error. After an error part of it may be gone, and the next call goes on. Needs no memory.
void remove_folder(const std::filesystem::path& folder, std::error_code& error) noexcept;

}  // namespace octavo::storage

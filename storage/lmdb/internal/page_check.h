#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "base/error.h"

namespace octavo::storage {

/// Whether LMDB's file `folder`/data.mdb is sound enough to be opened: both meta pages, the roots of all trees, no
/// trees other than those named, and no page in use beyond the end of the file. Reads a dozen pages, whatever the
/// file's size, so it runs before every opening. Deeper damage is found by check_store().
///
/// Errors: corrupted, with the file and what is wrong; not_found; io_failure.
Expected<void> check_roots(const std::filesystem::path& folder, std::span<const std::string> trees);

}  // namespace octavo::storage

#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "base/error.h"
#include "storage/lmdb/check_report.h"

namespace octavo::storage {

/// Whether LMDB's file `folder`/data.mdb is sound enough to be opened: both meta pages, the roots of all trees, no
/// trees other than those named, and no page in use beyond the end of the file. Reads a dozen pages, whatever the
/// file's size, so it runs before every opening. Deeper damage is found by check_pages().
///
/// Errors: corrupted, with the file and what is wrong; not_found; io_failure.
Expected<void> check_roots(const std::filesystem::path& folder, std::span<const std::string> trees);

/// Verifies every page of the file without LMDB, which a damaged page can crash: each page is in one tree, on the list
/// of free pages or a meta page, and exactly once; all nodes lie within their pages; keys are in order, also between
/// pages; depth and counts agree with the trees' records. If this finds nothing, LMDB can walk the file safely. Does
/// not interpret the values.
///
/// O(pages); memory: one bit per page. Every problem goes into the report, prefixed with `label`.
void check_pages(const std::filesystem::path& folder, std::string_view label, CheckReport& report);

}  // namespace octavo::storage

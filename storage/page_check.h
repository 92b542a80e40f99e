#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "base/error.h"
#include "storage/check_report.h"

namespace octavo::storage {

/// Whether LMDB's file `folder`/data.mdb is whole and may be opened: both meta pages; the roots of all trees; no tree
/// but those named; and that no page in use lies beyond the end of the file. Reads a dozen pages, whatever the file's
/// size, so it comes before every opening. Damage further down is for check_pages() to find.
///
/// Errors: corrupted, with the file and what is wrong; not_found; io_failure.
Expected<void> check_roots(const std::filesystem::path& folder, std::span<const std::string> trees);

/// Verifies every page of the file without LMDB, which a damaged page can bring down: that each page is in one tree, on
/// the list of free pages or a meta page, and exactly once; that all nodes lie within their pages, keys are in order,
/// also between pages, and depth and counts are what the trees' records say. Once this finds nothing, LMDB can walk the
/// file safely. What the values mean is for others to check.
///
/// O(pages); memory: a bit for each page. Whatever is wrong goes into the report, each line after `label`.
void check_pages(const std::filesystem::path& folder, std::string_view label, CheckReport& report);

}  // namespace octavo::storage

#pragma once

#include <filesystem>
#include <string_view>

#include "storage/lmdb/check_report.h"

namespace octavo::storage {

/// Verifies the file in `folder` without opening it, because opening a damaged file can crash the process: every page
/// is in one tree, on the list of free pages or a meta page, and exactly once; all nodes lie within their pages; keys
/// are in order, also between pages; depth and counts agree with the trees' records. If this finds nothing, the rows
/// can be walked safely. Does not interpret the values.
///
/// O(pages); memory: one bit per page. Every problem goes into the report, prefixed with `label`.
void check_store(const std::filesystem::path& folder, std::string_view label, CheckReport& report);

}  // namespace octavo::storage

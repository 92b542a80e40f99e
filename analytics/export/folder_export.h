#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analytics/channel/channel.h"
#include "analytics/duckdb/connection.h"
#include "analytics/export/partitions.h"
#include "analytics/sql/query_watch.h"

namespace octavo::analytics {

struct FolderExport {
  std::filesystem::path parent;  ///< the folder of all exports
  std::string folder;            ///< a name in it
  std::string owner;             ///< the instance tag of the database
  ExportedTable table;
  std::vector<std::string> partition_by;
};

/// Brings a folder of Parquet files up to date with a table, as one transaction sees it, and then sends
/// FrameKind::reply, JSON {checkpoint, rows, partitions, written, removed, bytes}. Partitions whose rows have not
/// changed keep their files; after another definition of the export, or a change of the table's columns, all are
/// written again.
///
/// What is new is first written beside the table, of at most `bytes_max` in all, so that the folder is replaced when
/// nothing can fail any more but the disk.
///
/// Errors: those of Partitioning and PublishedFolder; conflict with the word export_folder: the folder has other
/// content; those of QueryWatch::explain.
Expected<void> run_folder_export(duckdb::Connection& connection, const FolderExport& wanted, Channel& channel,
                                 TimeLimit time, std::uint64_t bytes_max);

}  // namespace octavo::analytics

#include "analytics/export/folder_export.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "analytics/duckdb/scratch.h"
#include "analytics/export/disk_failure.h"
#include "analytics/export/manifest.h"
#include "analytics/export/published_folder.h"
#include "base/folder.h"

namespace octavo::analytics {

namespace {

namespace fs = std::filesystem;

// DuckDB buffers rows of each partition that it writes, and holds its files open.
constexpr std::size_t partitions_at_once = 100;

/// A folder export that runs.
class Run {
 public:
  Run(duckdb::Connection& connection, const FolderExport& wanted, PublishedFolder& folder, std::uint64_t bytes_max)
      : connection_(connection),
        wanted_(wanted),
        folder_(folder),
        bytes_max_(bytes_max),
        scratch_(connection.instance()) {}

  const duckdb::Scratch& scratch() const { return scratch_; }

  Expected<boost::json::object> operator()() {
    OCTAVO_TRY_VOID(read_former());
    std::vector<Partition> partitions;
    {
      OCTAVO_TRY(auto transaction, duckdb::Transaction::begin(connection_, true));
      OCTAVO_TRY(const auto state, connection_.rows("select checkpoint, build from octavo.state"));
      if (state.empty()) return fail(ErrorCode::overloaded, "The table was not made yet: try again.");
      checkpoint_ = state.front().front().integer;
      ExportedTable table = wanted_.table;
      if (const auto build = state.front()[1].integer; build > 0) table.made += fmt::format(".{}", build);
      OCTAVO_TRY(const auto partitioning, Partitioning::create(connection_, table, wanted_.partition_by));
      next_.layout = partitioning.layout();
      OCTAVO_TRY(partitions, partitioning.list(connection_));
      OCTAVO_TRY_VOID(write_changed(partitioning, partitions));
      if (bytes_ > bytes_max_) return std::unexpected(QueryWatch::too_large());
      OCTAVO_TRY_VOID(transaction.commit());
    }
    return publish(partitions);
  }

 private:
  Expected<void> read_former() {
    next_.owner = wanted_.owner;
    std::error_code failed;
    if (!fs::exists(folder_.current(), failed)) return {};
    former_ = Manifest::read(folder_.current());
    if (former_ && former_->owner == wanted_.owner) return {};
    if (!former_ && storage::folder_entries(folder_.current(), failed).empty() && !failed) return {};
    return fail(ErrorCode::conflict,
                fmt::format("The folder {} has something else than an export of this database: name another folder, or "
                            "remove it first.",
                            wanted_.folder),
                "export_folder");
  }

  bool has_files(const std::string& folder, const Manifest::Entry& entry) const {
    return std::ranges::all_of(entry.files, [&](const auto& file) {
      std::error_code failed;
      return fs::file_size(folder_.current() / folder / file.first, failed) == file.second && !failed;
    });
  }

  /// Its entry if its files can be kept; else null.
  const Manifest::Entry* unchanged(const Partition& partition) const {
    if (!former_ || former_->layout != next_.layout) return nullptr;
    const auto found = former_->partitions.find(partition.folder);
    if (found == former_->partitions.end()) return nullptr;
    const Manifest::Entry& entry = found->second;
    const bool is_same = entry.rows == partition.rows && entry.fingerprint == partition.fingerprint;
    return is_same && has_files(partition.folder, entry) ? &entry : nullptr;
  }

  Expected<void> write_changed(const Partitioning& partitioning, const std::vector<Partition>& partitions) {
    std::vector<std::int64_t> numbers;
    for (const Partition& partition : partitions) {
      kept_.push_back(unchanged(partition));
      if (kept_.back() == nullptr) numbers.push_back(partition.number);
    }
    written_ = numbers.size();
    std::error_code failed;
    fs::create_directory(scratch_.path(), failed);
    if (failed) return disk_failure("Cannot make the folder", scratch_.path(), failed);
    for (std::size_t first = 0; first < numbers.size(); first += partitions_at_once) {
      const auto count = std::min(partitions_at_once, numbers.size() - first);
      const std::vector<std::int64_t> some(numbers.begin() + static_cast<std::ptrdiff_t>(first),
                                           numbers.begin() + static_cast<std::ptrdiff_t>(first + count));
      OCTAVO_TRY_VOID(partitioning.write(connection_, some, group_of(first).string()));
    }
    bytes_ = scratch_.bytes();
    return {};
  }

  // Each statement wants an empty folder.
  fs::path group_of(std::size_t position) const {
    return scratch_.path() / std::to_string(position / partitions_at_once);
  }

  Expected<boost::json::object> publish(const std::vector<Partition>& partitions) {
    const std::size_t removed = count_removed(partitions);
    if (!former_ || former_->layout != next_.layout || written_ > 0 || removed > 0) {
      OCTAVO_TRY_VOID(replace_folder(partitions));
    }
    std::uint64_t rows = 0;
    for (const Partition& partition : partitions) rows += partition.rows;
    return boost::json::object{{"checkpoint", checkpoint_}, {"rows", rows},       {"partitions", partitions.size()},
                               {"written", written_},       {"removed", removed}, {"bytes", bytes_}};
  }

  std::size_t count_removed(const std::vector<Partition>& partitions) const {
    if (!former_) return 0;
    std::set<std::string_view> present;
    for (const Partition& partition : partitions) present.insert(partition.folder);
    return static_cast<std::size_t>(
        std::ranges::count_if(former_->partitions, [&](const auto& entry) { return !present.contains(entry.first); }));
  }

  Expected<void> replace_folder(const std::vector<Partition>& partitions) {
    std::size_t changed = 0;
    for (std::size_t position = 0; position < partitions.size(); ++position) {
      const Partition& partition = partitions[position];
      const fs::path target = folder_.successor() / partition.folder;
      std::error_code failed;
      fs::create_directories(target, failed);
      if (failed) return disk_failure("Cannot make the folder", target, failed);
      if (kept_[position] != nullptr) {
        OCTAVO_TRY_VOID(keep(partition, *kept_[position], target));
      } else {
        OCTAVO_TRY_VOID(take(partition, group_of(changed++), target));
      }
    }
    OCTAVO_TRY_VOID(next_.write(folder_.successor()));
    return folder_.publish();
  }

  Expected<void> keep(const Partition& partition, const Manifest::Entry& entry, const fs::path& target) {
    for (const auto& [name, bytes] : entry.files) {
      OCTAVO_TRY_VOID(link_or_copy(folder_.current() / partition.folder / name, target / name));
    }
    next_.partitions.emplace(partition.folder, entry);
    return {};
  }

  // The names of new files differ from the former ones', so a reader who has listed those does not open others.
  Expected<void> take(const Partition& partition, const fs::path& group, const fs::path& target) {
    const fs::path from = group / fmt::format("_partition={}", partition.number);
    Manifest::Entry entry{.rows = partition.rows, .fingerprint = partition.fingerprint, .files = {}};
    std::error_code failed;
    for (const std::string& file : storage::folder_entries(from, failed)) {
      const std::string name = fmt::format("{}-{}-{}", partition.fingerprint, checkpoint_, file);
      OCTAVO_TRY_VOID(link_or_copy(from / file, target / name));
      entry.files.emplace(name, fs::file_size(target / name, failed));
      if (failed) break;
    }
    if (failed) return disk_failure("Cannot read the folder", from, failed);
    next_.partitions.emplace(partition.folder, std::move(entry));
    return {};
  }

  duckdb::Connection& connection_;
  const FolderExport& wanted_;
  PublishedFolder& folder_;
  const std::uint64_t bytes_max_;
  const duckdb::Scratch scratch_;
  std::optional<Manifest> former_;
  Manifest next_;
  std::vector<const Manifest::Entry*>
      kept_;  ///< for each partition: its entry in former_, or null if it is written again
  std::int64_t checkpoint_ = 0;
  std::size_t written_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Expected<void> run_folder_export(duckdb::Connection& connection, const FolderExport& wanted, Channel& channel,
                                 TimeLimit time, std::uint64_t bytes_max) {
  const auto exported = [&]() -> Expected<boost::json::object> {
    OCTAVO_TRY(auto folder, PublishedFolder::open(wanted.parent, wanted.folder));
    Run run(connection, wanted, folder, bytes_max);
    const QueryWatch watch(connection, channel, time, [&] { return run.scratch().bytes() > bytes_max; });
    auto report = run();
    folder.discard();
    if (!report) return std::unexpected(watch.explain(report.error()));
    return report;
  };
  // Who reads the answer may export into the folder at once: it is unlocked before.
  OCTAVO_TRY(const auto report, exported());
  return channel.send(FrameKind::reply, boost::json::serialize(report));
}

}  // namespace octavo::analytics

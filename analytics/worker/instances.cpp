#include "analytics/worker/instances.h"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "base/ascii_case.h"

namespace octavo::analytics {

namespace {

void remove_files(const std::filesystem::path& file) {
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  std::filesystem::remove(file.string() + ".wal", ignored);
  std::filesystem::remove_all(file.string() + ".tmp", ignored);
  std::filesystem::remove_all(file.string() + ".export", ignored);
}

bool has_file(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::exists(file, ignored);
}

std::unexpected<Error> no_table() {
  return fail(ErrorCode::not_found, "The table was not made yet.");
}

/// Opens what `open` opens; `makes`: a damaged file is made again.
template <class Open>
auto open_or_make(const std::filesystem::path& file, bool makes, Open open) -> decltype(open()) {
  if (!makes && !has_file(file)) return no_table();
  auto opened = open();
  if (opened || !makes || opened.error().code != ErrorCode::corrupted) return opened;
  remove_files(file);
  return open();
}

}  // namespace

Expected<duckdb::Connection> Instances::Lease::connect() const {
  OCTAVO_TRY(auto connection, duckdb::Connection::open(instance_));
  if (!as_.empty() && !connection.run(fmt::format("use {}.main", duckdb::quoted_name(as_)))) {
    return fail(ErrorCode::overloaded, "The table is not open: try again.");
  }
  return connection;
}

bool Instances::has_file(const TablePlace& place) {
  return analytics::has_file(place.file);
}

void Instances::remove_files(const TablePlace& place) {
  const std::lock_guard lock(mutex_);
  const std::string file = place.file.string();
  const auto found = entries_.find(place.as.empty() ? file : place.file.parent_path().string());
  const bool is_open = found != entries_.end() && (place.as.empty() || found->second.attached.contains(file));
  if (!is_open) analytics::remove_files(place.file);
}

// Those below are called with the mutex held.

Instances::Lease Instances::lease(const std::string& key, Entry& entry) {
  ++entry.users;
  return Lease(*this, key, entry.instance);
}

Expected<Instances::Entry*> Instances::group(const std::string& folder) {
  Entry& entry = entries_[folder];
  if (!entry.instance) {
    auto opened = duckdb::Instance::open_group(api_, folder, limits_);
    if (!opened) {
      entries_.erase(folder);
      return std::unexpected(std::move(opened).error());
    }
    entry.instance = *std::move(opened);
  }
  return &entry;
}

Expected<void> Instances::attach(Entry& entry, const TablePlace& place, bool makes) const {
  const std::string file = place.file.string();
  if (const auto found = entry.attached.find(file); found != entry.attached.end()) {
    ++found->second.users;
    return {};
  }
  for (const auto& [other, attached] : entry.attached) {
    if (equals_ignoring_case(attached.as, place.as)) {
      return fail(ErrorCode::overloaded, fmt::format("An earlier table `{}` of the group is still in use.", place.as));
    }
  }
  const auto may_see = [&](const auto& places) { return std::ranges::find(places, place) != places.end(); };
  if (!std::ranges::all_of(entry.queries, may_see)) {
    return fail(ErrorCode::overloaded, "Queries to the group run that began before the database joined it.");
  }
  OCTAVO_TRY_VOID(open_or_make(place.file, makes, [&] { return entry.instance->attach(place.file, place.as); }));
  entry.attached.emplace(file, Attached{place.as, 1});
  return {};
}

Expected<Instances::Lease> Instances::open(const TablePlace& place, bool makes) {
  const std::lock_guard lock(mutex_);
  const std::string file = place.file.string();
  if (place.as.empty()) {
    Entry& entry = entries_[file];
    if (!entry.instance) {
      auto opened = open_or_make(place.file, makes, [&] { return duckdb::Instance::open(api_, place.file, limits_); });
      if (!opened) {
        entries_.erase(file);
        return std::unexpected(std::move(opened).error());
      }
      entry.instance = *std::move(opened);
    }
    return lease(file, entry);
  }
  const std::string folder = place.file.parent_path().string();
  OCTAVO_TRY(Entry* const entry, group(folder));
  if (auto attached = attach(*entry, place, makes); !attached) {
    if (entry->users == 0) entries_.erase(folder);
    return std::unexpected(std::move(attached).error());
  }
  Lease opened = lease(folder, *entry);
  opened.files_.push_back(file);
  opened.as_ = place.as;
  return opened;
}

Expected<Instances::Lease> Instances::open_group(const std::vector<TablePlace>& places, std::string_view as) {
  const std::lock_guard lock(mutex_);
  if (places.empty()) return no_table();
  const std::string folder = places.front().file.parent_path().string();
  OCTAVO_TRY(Entry* const entry, group(folder));
  for (const auto& [file, attached] : entry->attached) {
    if (std::ranges::find(places, TablePlace{file, attached.as}) == places.end()) {
      return fail(ErrorCode::overloaded, "The group of databases is changing: try again.");
    }
  }
  Lease opened = lease(folder, *entry);
  opened.as_ = as;
  for (const TablePlace& place : places) {
    // A table that cannot be opened is left out: a query that names it fails.
    if (attach(*entry, place, false)) opened.files_.push_back(place.file.string());
  }
  entry->queries.push_back(places);
  opened.query_ = std::prev(entry->queries.end());
  return opened;
}

void Instances::give_back(Lease& lease) {
  const std::lock_guard lock(mutex_);
  lease.instance_.reset();
  const auto found = entries_.find(lease.key_);
  Entry& entry = found->second;
  if (lease.query_) entry.queries.erase(*lease.query_);
  for (const std::string& file : lease.files_) {
    const auto attached = entry.attached.find(file);
    if (--attached->second.users > 0) continue;
    // What fails here is open until the instance is closed: it cannot be attached again before.
    static_cast<void>(entry.instance->detach(attached->second.as));
    entry.attached.erase(attached);
  }
  if (--entry.users == 0) entries_.erase(found);
}

}  // namespace octavo::analytics

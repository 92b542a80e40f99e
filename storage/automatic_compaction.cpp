#include "storage/automatic_compaction.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

namespace octavo::storage {

namespace {

std::optional<Density> density_of(const CompactionQueue::Target& target) {
  if (target.store == nullptr) return target.files.density();
  auto density = target.store->density();
  if (!density) return std::nullopt;
  return *std::move(density);
}

}  // namespace

void AutomaticCompaction::consider(CompactionQueue::Target target, std::uint32_t share_percent) {
  if (target.is_gone()) return;
  std::uint64_t last_transaction = 0;
  if (target.store != nullptr) {
    // The size first, as reading the pages counts as use, and would keep the store open.
    if (!target.store->is_open()) return;
    if (Store::file_bytes_in(target.store->options().folder).value_or(0) < file_bytes_min) return;
    last_transaction = target.store->last_transaction();
  }
  const auto now = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    const auto known = looks_.find(target.subject());
    if (known != looks_.end() && !known->second.owner.expired()) {
      const bool unchanged = target.store != nullptr && known->second.last_transaction == last_transaction;
      if (unchanged || now < known->second.next) return;
    }
  }
  const auto density = density_of(target);
  if (!density) return;
  const std::uint64_t sparse_bytes = density->sparse_bytes();
  const bool is_sparse =
      density->file_bytes >= file_bytes_min && sparse_bytes / share_percent >= density->file_bytes / 100;
  {
    const std::lock_guard lock(mutex_);
    looks_[target.subject()] = {.owner = target.owner,
                                .last_transaction = last_transaction,
                                .next = now + (is_sparse ? delays_.rest : delays_.between_looks),
                                .sparse_bytes = sparse_bytes};
    forget_closed();
  }
  if (!is_sparse) return;
  spdlog::info("database {}: {} is compacted, as about {} of its {} bytes are not used", target.database, target.name,
               sparse_bytes, density->file_bytes);
  target.prepare = {};
  std::vector<CompactionQueue::Target> targets;
  targets.push_back(std::move(target));
  if (const auto added = queue_.add(std::move(targets)); !added) {
    spdlog::warn("a compaction could not be queued: {}", reason_of(added.error()));
  }
}

// Called with the mutex held.
void AutomaticCompaction::forget_closed() {
  if (looks_.size() < looks_at_cleaning_) return;
  std::erase_if(looks_, [](const auto& entry) { return entry.second.owner.expired(); });
  looks_at_cleaning_ = std::max<std::size_t>(64, 2 * looks_.size());
}

std::uint64_t AutomaticCompaction::sparse_bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& [subject, look] : looks_) {
    if (!look.owner.expired()) sum += look.sparse_bytes;
  }
  return sum;
}

}  // namespace octavo::storage

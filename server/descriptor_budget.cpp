#include "server/descriptor_budget.h"

#include <algorithm>
#include <sys/resource.h>

namespace octavo::server {
namespace {

/// The catalog, event queues, listeners, logs, folders being synced or listed.
constexpr std::size_t kDescriptorsOfServer = 64;
/// LMDB's: data, lock, and data once more for what must be written through.
constexpr std::size_t kDescriptorsOfPartition = 3;
constexpr std::size_t kRejectedLingeringMax = 256;
constexpr std::size_t kDescriptorsPerRejected = 8;

}  // namespace

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::size_t descriptor_limit() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
}

std::size_t rejected_lingering_max(std::size_t descriptors) {
  return std::clamp<std::size_t>(descriptors / kDescriptorsPerRejected, 1, kRejectedLingeringMax);
}

bool fit_to_descriptors(config::Settings& settings, std::size_t descriptors) {
  // A quarter at most for partitions, and the janitor closes a moment later than the next one is opened.
  const std::size_t partitions_max = std::max<std::size_t>(4, descriptors / 4 / kDescriptorsOfPartition);
  const std::size_t partitions = std::min(settings.open_partitions_max, partitions_max);
  const std::size_t taken = kDescriptorsOfServer + (partitions + partitions / 4) * kDescriptorsOfPartition +
                            rejected_lingering_max(descriptors);
  const std::size_t connections = std::min(settings.connections_max, descriptors > taken ? descriptors - taken : 1);
  const bool lowered = partitions < settings.open_partitions_max || connections < settings.connections_max;
  settings.open_partitions_max = partitions;
  settings.connections_max = connections;
  return lowered;
}

}  // namespace octavo::server

#include "server/connection/descriptor_budget.h"

#include <algorithm>
#include <sys/resource.h>

namespace octavo::server {
namespace {

/// For the catalog, event queues, listeners, logs, and folders being synced or listed.
constexpr std::size_t descriptors_of_server = 64;
/// LMDB opens the data file, the lock file, and the data file again for synchronous writes.
constexpr std::size_t descriptors_of_partition = 3;
constexpr std::size_t rejected_lingering_limit = 256;
constexpr std::size_t descriptors_per_rejected = 8;

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
  return std::clamp<std::size_t>(descriptors / descriptors_per_rejected, 1, rejected_lingering_limit);
}

bool fit_to_descriptors(config::Settings& settings, std::size_t descriptors) {
  // At most a quarter for partitions, and some more because the janitor closes one only after the next is opened.
  const std::size_t partitions_max = std::max<std::size_t>(4, descriptors / 4 / descriptors_of_partition);
  const std::size_t partitions = std::min(settings.open_partitions_max, partitions_max);
  const std::size_t taken = descriptors_of_server + (partitions + partitions / 4) * descriptors_of_partition +
                            rejected_lingering_max(descriptors);
  const std::size_t connections = std::min(settings.connections_max, descriptors > taken ? descriptors - taken : 1);
  const bool lowered = partitions < settings.open_partitions_max || connections < settings.connections_max;
  settings.open_partitions_max = partitions;
  settings.connections_max = connections;
  return lowered;
}

}  // namespace octavo::server

#pragma once

#include <cstddef>

#include "config/settings.h"

namespace octavo::server {

/// Raises the limit of file descriptors to the highest that the system allows.
void raise_descriptor_limit();
/// The current limit of this process.
std::size_t descriptor_limit();

/// Lowers connections_max and open_partitions_max so that both fit into `descriptors`. Excess connections are then
/// answered 503, and do not wait because the process has no descriptor left to accept them or to open files. True if a
/// setting was lowered.
bool fit_to_descriptors(config::Settings& settings, std::size_t descriptors);

/// Limit of connections beyond `connections_max` that are kept for a moment to be answered 503.
std::size_t rejected_lingering_max(std::size_t descriptors);

}  // namespace octavo::server

#pragma once

#include <cstddef>

#include "config/settings.h"

namespace octavo::server {

/// Takes as many file descriptors as the system allows.
void raise_descriptor_limit();
/// How many this process may have.
std::size_t descriptor_limit();

/// Lowers connections_max and open_partitions_max so that both fit into `descriptors`: connections that can still be
/// told 503, instead of waiting unanswered while the process has no descriptor left to accept them or to open files.
/// True when something was lowered.
bool fit_to_descriptors(config::Settings& settings, std::size_t descriptors);

/// Connections kept beyond `connections_max` for a moment, only to be told 503.
std::size_t rejected_lingering_max(std::size_t descriptors);

}  // namespace octavo::server

#pragma once

#include "bench/cases/cases.h"

/// What splits and merges of physical partitions cost. The cases are listed in cases.cpp.
namespace octavo::bench {

/// How long a split takes, and how long writers wait meanwhile.
void split(Run& run);
/// The same for merges.
void merge(Run& run);

}  // namespace octavo::bench

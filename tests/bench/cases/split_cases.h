#pragma once

#include "bench/cases/cases.h"

/// What splits of physical partitions cost. The case is listed in cases.cpp.
namespace octavo::bench {

/// How long a split takes, and how long writers wait meanwhile.
void split(Run& run);

}  // namespace octavo::bench

#pragma once

#include <cstddef>

namespace octavo::tests {

/// From now on the `n`-th allocation (from 1) by operator new, of any thread, fails once. 0: none.
void fail_allocation(std::size_t n);
/// Ends that. True when the allocation has failed.
bool stop_failing();

}  // namespace octavo::tests

#pragma once

#include <cstddef>

namespace octavo::tests {

/// From now on the `n`-th allocation (from 1) by operator new, of any thread, fails once. 0: none.
void fail_allocation(std::size_t n);
/// The same of the allocations by aligned_alloc, which are not by operator new: Asio makes them for its operations.
void fail_operation(std::size_t n);
/// From now on one of `one_in` allocations fails, by chance, in all threads but this one.
void fail_in_background(unsigned one_in);
/// Ends that. True when an allocation has failed.
bool stop_failing();

}  // namespace octavo::tests

#pragma once

#include <cstdio>
#include <cstdlib>

namespace octavo {

/// Says on stderr which assertion failed, and ends the process with SIGABRT. Allocates nothing.
/// `file` and `line` are those of the call, as the builtins are evaluated there. The path is relative to the project's
/// folder (cmake/compiler.cmake).
[[noreturn, gnu::cold, gnu::noinline]] inline void assertion_failed(const char* condition,
                                                                    const char* file = __builtin_FILE(),
                                                                    int line = __builtin_LINE()) noexcept {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace octavo

/// States what the code around it relies on: a precondition, or a state that only a bug can change. What clients, files
/// or the operating system can make false is an Error instead (CONTRIBUTING.md).
///   OCTAVO_ASSERT(partition_id < partitions_.size());
///
/// Checked if the CMake option OCTAVO_ASSERTIONS is on. Otherwise the condition is compiled, so that it stays correct,
/// but never evaluated: it must have no effects.
#if defined(OCTAVO_ASSERTIONS)
#define OCTAVO_ASSERT(...) OCTAVO_ASSERT_ENABLED(__VA_ARGS__)
#else
#define OCTAVO_ASSERT(...) OCTAVO_ASSERT_DISABLED(__VA_ARGS__)
#endif

// Both forms exist in every build, for their test. A condition may contain commas.
#define OCTAVO_ASSERT_ENABLED(...) ((__VA_ARGS__) ? static_cast<void>(0) : ::octavo::assertion_failed(#__VA_ARGS__))
// Not sizeof: what only an assertion uses would be reported as unused.
#define OCTAVO_ASSERT_DISABLED(...) static_cast<void>(true || static_cast<bool>(__VA_ARGS__))

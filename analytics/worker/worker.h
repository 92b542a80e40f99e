#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace octavo::analytics {

/// What the server tells the analytical process at its start.
struct WorkerOptions {
  std::filesystem::path library;
  std::string library_sha256;  ///< empty: the known one
  std::uint64_t memory_bytes = 0;
  std::uint64_t temporary_bytes = 0;
  std::chrono::milliseconds query_time_max{0};
};

/// The descriptor of the control socket in the analytical process.
inline constexpr int control_descriptor = 3;

/// Runs the analytical process until the server closes the control socket or ends. First of all it gives way: to the
/// server for processors (SCHED_IDLE), to everything else when memory is short (oom_score_adj), and its address space
/// is limited. Then it loads DuckDB and reports that over the control socket, as JSON: {version} or a failure's
/// payload. Returns the exit code.
int run_worker(const WorkerOptions& options);

}  // namespace octavo::analytics

#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

namespace octavo::bench {

/// The server under measurement, as a child process on a free port. Throws std::runtime_error when it does not become
/// ready. The destructor stops it.
class ServerProcess {
 public:
  ServerProcess(std::filesystem::path binary, std::filesystem::path data_dir, std::vector<std::string> arguments);
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  /// SIGTERM, wait. True when it left with 0.
  bool stop();

  std::uint16_t port() const { return port_; }
  std::uint16_t cosmos_port() const { return cosmos_port_; }
  /// From exec to the READY line, as seen from outside, and as the server says itself.
  std::chrono::milliseconds ready_time() const { return ready_time_; }
  int own_ready_ms() const { return own_ready_ms_; }
  /// Resident memory outside the page cache (RssAnon), in bytes; 0 when the process is gone.
  std::uint64_t anonymous_bytes() const;
  /// CPU time it has used so far, in seconds.
  double cpu_seconds() const;

 private:
  pid_t child_ = -1;
  int log_ = -1;
  std::uint16_t port_ = 0;
  std::uint16_t cosmos_port_ = 0;
  int own_ready_ms_ = 0;
  std::chrono::milliseconds ready_time_{0};
};

}  // namespace octavo::bench

#include "bench/server_process.h"

#include <array>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <signal.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace octavo::bench {

namespace {
constexpr std::chrono::seconds ready_timeout{120};
}

ServerProcess::ServerProcess(std::filesystem::path binary, std::filesystem::path data_dir,
                             std::vector<std::string> arguments) {
  std::vector<std::string> all{binary.string(), "serve", "--data-dir", data_dir.string(),
                               "--port",        "0",     "--bind",     "127.0.0.1",
                               "--cosmos-port", "0"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (auto& argument : all) pointers.push_back(argument.data());
  pointers.push_back(nullptr);

  // The log goes to a file: a pipe that is not read would stop the server in the middle of a run.
  const auto log_path = data_dir.string() + ".log";
  log_ = ::open(log_path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (log_ < 0) throw std::runtime_error("cannot write " + log_path);
  const auto begin = std::chrono::steady_clock::now();
  child_ = ::fork();
  if (child_ < 0) throw std::runtime_error("fork failed");
  if (child_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(log_, STDOUT_FILENO);
    ::dup2(log_, STDERR_FILENO);
    ::execv(binary.c_str(), pointers.data());
    ::_exit(127);
  }

  std::string text;
  for (;;) {
    std::array<char, 8192> buffer;
    const auto count = ::pread(log_, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    unsigned port = 0;
    unsigned cosmos_port = 0;
    const auto found = text.find("READY port=");
    if (found != std::string::npos && text.find('\n', found) != std::string::npos &&
        std::sscanf(text.c_str() + found, "READY port=%u in=%d ms cosmos_port=%u", &port, &own_ready_ms_,
                    &cosmos_port) >= 1) {
      port_ = static_cast<std::uint16_t>(port);
      cosmos_port_ = static_cast<std::uint16_t>(cosmos_port);
      break;
    }
    const auto passed = std::chrono::steady_clock::now() - begin;
    if (::waitpid(child_, nullptr, WNOHANG) == child_ || passed > ready_timeout) {
      child_ = -1;
      throw std::runtime_error(fmt::format("{} did not become ready:\n{}", binary.string(), text));
    }
    ::usleep(500);
  }
  ready_time_ = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
}

ServerProcess::~ServerProcess() {
  stop();
  ::close(log_);
}

bool ServerProcess::stop() {
  if (child_ < 0) return true;
  ::kill(child_, SIGTERM);
  int status = 0;
  ::waitpid(child_, &status, 0);
  child_ = -1;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::uint64_t ServerProcess::anonymous_bytes() const {
  std::ifstream file(fmt::format("/proc/{}/status", child_));
  for (std::string line; std::getline(file, line);) {
    unsigned long kilobytes = 0;
    if (std::sscanf(line.c_str(), "RssAnon: %lu kB", &kilobytes) == 1) return std::uint64_t{kilobytes} * 1024;
  }
  return 0;
}

double ServerProcess::cpu_seconds() const {
  std::ifstream file(fmt::format("/proc/{}/stat", child_));
  std::string text;
  std::getline(file, text);
  unsigned long user = 0, system = 0;
  // The fields after the program's name, which may hold spaces: it ends at the last parenthesis.
  const auto end = text.rfind(')');
  if (end == std::string::npos ||
      std::sscanf(text.c_str() + end, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2) {
    return 0;
  }
  return static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace octavo::bench

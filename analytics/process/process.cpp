#include "analytics/process/process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "query/json/parsed_document.h"

namespace octavo::analytics {

namespace {

constexpr std::chrono::milliseconds delay_min{100};
constexpr std::chrono::milliseconds delay_max{10'000};
// One that has run for so long did not end because of how it was started.
constexpr std::chrono::seconds sound_after{60};
// The process reads 70 MB.
constexpr std::chrono::milliseconds report_patience{60'000};

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return fmt::format("by signal {}", WTERMSIG(status));
  return fmt::format("with code {}", WEXITSTATUS(status));
}

}  // namespace

Process::Process(WorkerOptions options) : options_(std::move(options)) {}

Expected<Channel> Process::connect() {
  std::unique_lock lock(mutex_);
  if (stopping_) return fail(ErrorCode::overloaded, "The server is shutting down.");
  if (state_ != State::running) {
    if (state_ == State::stopped) {
      if (Clock::now() < not_before_) {
        if (has_failed_) return std::unexpected(failure_);
        return fail(ErrorCode::overloaded, "The analytical process has ended; it starts again soon.");
      }
      state_ = State::wanted;
      if (!thread_.joinable()) thread_ = std::thread([this] { watch(); });
      changed_.notify_all();
    }
    changed_.wait(lock, [this] { return state_ != State::wanted || stopping_; });
    if (state_ != State::running) {
      if (has_failed_) return std::unexpected(failure_);
      return fail(ErrorCode::overloaded, "The analytical process has ended; it starts again soon.");
    }
  }
  OCTAVO_TRY(auto ends, socket_pair(SOCK_STREAM));
  OCTAVO_TRY_VOID(send_descriptor(control_, ends.second));
  return Channel(std::move(ends.first));
}

void Process::watch() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return state_ == State::wanted || stopping_; });
    if (stopping_) return;
    lock.unlock();
    auto started = start();
    lock.lock();
    if (!started) {
      failure_ = started.error();
      has_failed_ = true;
      ended();
      continue;
    }
    has_failed_ = false;
    const pid_t pid = *started;
    state_ = State::running;
    running_since_ = Clock::now();
    ++starts_;
    spdlog::info("the analytical process runs: pid {}, DuckDB {}", pid, version_);
    changed_.notify_all();
    lock.unlock();
    // Its end is only noticed here, so that its number is not another process's when kill() uses it.
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    lock.lock();
    int status = 0;
    ::waitpid(pid, &status, 0);
    pid_ = -1;
    control_ = Descriptor();
    if (stopping_) return;
    spdlog::warn("the analytical process has ended {}; it starts again when it is needed", how_it_ended(status));
    ended();
  }
}

// Called with the mutex held.
void Process::ended() {
  const auto now = Clock::now();
  const bool was_sound = state_ == State::running && now - running_since_ > sound_after;
  delay_ = was_sound ? delay_min : std::clamp(2 * delay_, delay_min, delay_max);
  not_before_ = now + delay_;
  state_ = State::stopped;
  changed_.notify_all();
}

Expected<pid_t> Process::start() {
  OCTAVO_TRY(auto ends, socket_pair(SOCK_SEQPACKET));
  std::vector<std::string> arguments{"octavo",
                                     "analytics",
                                     "--library=" + options_.library.string(),
                                     fmt::format("--memory-bytes={}", options_.memory_bytes),
                                     fmt::format("--temporary-bytes={}", options_.temporary_bytes),
                                     fmt::format("--query-time-ms={}", options_.query_time_max.count())};
  if (!options_.library_sha256.empty()) arguments.push_back("--library-sha256=" + options_.library_sha256);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  // Nothing of the server's environment is needed: it may have secrets.
  std::array<char*, 1> no_environment{nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends.second.get(), control_descriptor);
  posix_spawn_file_actions_addclosefrom_np(&actions, control_descriptor + 1);
  pid_t pid = -1;
  const int failed = ::posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, pointers.data(), no_environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    return fail(ErrorCode::overloaded,
                fmt::format("The analytical process could not be started: {}.", std::strerror(failed)));
  }
  {
    const std::lock_guard lock(mutex_);
    pid_ = pid;
    if (stopping_) ::kill(pid, SIGKILL);
  }
  ends.second = Descriptor();
  auto version = read_report(ends.first, pid);
  const std::lock_guard lock(mutex_);
  if (!version) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid_ = -1;
    return std::unexpected(version.error());
  }
  version_ = *std::move(version);
  control_ = std::move(ends.first);
  return pid;
}

Expected<std::string> Process::read_report(const Descriptor& control, pid_t pid) const {
  const auto silent = [&] {
    return fail(ErrorCode::overloaded, fmt::format("The analytical process {} has ended at its start.", pid));
  };
  pollfd state{.fd = control.get(), .events = POLLIN, .revents = 0};
  const int polled = ::poll(&state, 1, static_cast<int>(report_patience.count()));
  if (polled == 0) {
    return fail(ErrorCode::overloaded, fmt::format("The analytical process {} has not started within {} s.", pid,
                                                   report_patience.count() / 1000));
  }
  if (polled != 1) return silent();
  std::string text(64 << 10, '\0');
  const ssize_t count = ::recv(control.get(), text.data(), text.size(), 0);
  if (count <= 0) return silent();
  text.resize(static_cast<std::size_t>(count));
  const auto parsed = query::parse_json(text);
  if (!parsed || !parsed->is_object()) return silent();
  if (!parsed->get_object().contains("version")) return std::unexpected(error_of_payload(text));
  return query::text_member(parsed->get_object(), "version");
}

void Process::kill() {
  const std::lock_guard lock(mutex_);
  if (pid_ > 0) ::kill(pid_, SIGKILL);
}

void Process::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

Process::Status Process::status() const {
  const std::lock_guard lock(mutex_);
  return {state_ == State::running, starts_, version_};
}

}  // namespace octavo::analytics

#include "server/process/logging.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <iterator>
#include <memory>
#include <mutex>
#include <poll.h>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "base/json_writer.h"

namespace octavo::server {
namespace {

// One mutex for the logger's sink and the access log, because both write to the same descriptor.
std::mutex& output_mutex() {
  static std::mutex mutex;
  return mutex;
}

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = ::write(STDERR_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // cannot be reported
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

class StandardErrorSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    // Each event must be one line, even if names of users or documents contain control characters.
    std::replace_if(line.begin(), line.end() - 1, [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; }, ' ');
    write_log_lines({line.data(), line.size()});
  }
  void flush_() override {}
};

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(message.time.time_since_epoch()).count();
    const auto level = spdlog::level::to_string_view(message.level);
    std::string line = fmt::format("{{\"time\":\"{:%Y-%m-%dT%H:%M:%S}.{:03}Z\",\"level\":\"{}\",\"message\":",
                                   fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000,
                                   std::string_view{level.data(), level.size()});
    append_json_string(line, {message.payload.data(), message.payload.size()});
    line.append("}\n");
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(); }
};

}  // namespace

void fill_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    // Gets the lowest free number: this one.
    if (::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF) static_cast<void>(::open("/dev/null", O_RDWR));
  }
}

void write_log_lines(std::string_view lines) {
  const std::scoped_lock lock(output_mutex());
  write_all(lines);
}

void write_last_words(std::string_view line) {
  pollfd output{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  // A writable pipe accepts PIPE_BUF bytes without waiting.
  if (::poll(&output, 1, 0) <= 0 || (output.revents & POLLOUT) == 0) return;
  static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
}

void set_up_logging(const config::Settings& settings) {
  auto sink = std::make_shared<StandardErrorSink>();
  auto logger = std::make_shared<spdlog::logger>("octavo", std::move(sink));
  if (settings.log_format == config::LogFormat::json) {
    logger->set_formatter(std::make_unique<JsonFormatter>());
  } else {
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
  }
  logger->set_level(spdlog::level::from_str(settings.log_level));
  spdlog::set_default_logger(std::move(logger));
}

void set_log_level(const std::string& level) {
  spdlog::set_level(spdlog::level::from_str(level));
}

}  // namespace octavo::server

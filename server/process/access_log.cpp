#include "server/process/access_log.h"

#include <array>
#include <iterator>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/ascii_case.h"
#include "base/json_writer.h"
#include "server/process/logging.h"

namespace octavo::server {
namespace {

constexpr std::size_t flush_bytes = 64 * 1024;
/// Limit of lines waiting for the writer; further lines are dropped.
constexpr std::size_t pending_bytes_max = 16 * 1024 * 1024;

bool is_secret_parameter(std::string_view name) {
  static constexpr std::array<std::string_view, 4> secrets{"password", "token", "access_token", "secret"};
  for (const auto secret : secrets) {
    if (equals_ignoring_case(name, secret)) return true;
  }
  return false;
}

void append_escaped(std::string_view text, std::string& out) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '"' || c == '\\') {
      fmt::format_to(std::back_inserter(out), "%{:02X}", byte);
    } else {
      out.push_back(c);
    }
  }
}

}  // namespace

std::string loggable_target(std::string_view target) {
  std::string out;
  out.reserve(target.size());
  const auto question = target.find('?');
  append_escaped(target.substr(0, question), out);
  if (question == std::string_view::npos) return out;
  char separator = '?';
  for (auto rest = target.substr(question + 1); !rest.empty();) {
    const auto end = rest.find('&');
    const auto pair = rest.substr(0, end);
    const auto equals = pair.find('=');
    out.push_back(separator);
    if (equals != std::string_view::npos && is_secret_parameter(pair.substr(0, equals))) {
      append_escaped(pair.substr(0, equals), out);
      out.append("=***");
    } else {
      append_escaped(pair, out);
    }
    separator = '&';
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  return out;
}

AccessLog::AccessLog(config::LogFormat format, Writer writer) : format_(format), writer_(std::move(writer)) {
  thread_ = std::thread([this] { write_until_stopped(); });
}

AccessLog::~AccessLog() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void AccessLog::Buffer::add_time(std::chrono::system_clock::time_point now) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  if (ms / 1000 != second_) {
    second_ = ms / 1000;
    second_text_ = fmt::format("{:%Y-%m-%dT%H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(second_)));
  }
  fmt::format_to(std::back_inserter(lines_), "{}.{:03}Z", second_text_, ms % 1000);
}

void AccessLog::Buffer::add(const AccessLogEntry& entry) {
  const auto target = loggable_target(entry.target);
  auto out = std::back_inserter(lines_);
  if (log_.format_ == config::LogFormat::json) {
    lines_.append("{\"time\":\"");
    add_time(std::chrono::system_clock::now());
    fmt::format_to(out, "\",\"level\":\"info\",\"event\":\"access\",\"request_id\":\"{}\",\"peer\":\"{}\",\"user\":",
                   entry.request_id, entry.peer);
    if (entry.user.empty()) {
      lines_.append("null");
    } else {
      append_json_string(lines_, entry.user);
    }
    fmt::format_to(out, ",\"method\":\"{}\",\"target\":\"{}\",\"status\":{},\"bytes\":{},\"duration_us\":{}}}\n",
                   entry.method, target, entry.status, entry.bytes, entry.duration.count());
  } else {
    add_time(std::chrono::system_clock::now());
    fmt::format_to(out, " access {} {} ", entry.request_id, entry.peer);
    append_escaped(entry.user.empty() ? std::string_view{"-"} : entry.user, lines_);
    fmt::format_to(out, " {} {} {} {} {}us\n", entry.method, target, entry.status, entry.bytes, entry.duration.count());
  }
  ++count_;
  if (lines_.size() >= flush_bytes) flush();
}

void AccessLog::Buffer::flush() {
  if (lines_.empty()) return;
  log_.hand_over(lines_, count_);
  lines_.clear();
  count_ = 0;
}

void AccessLog::hand_over(std::string& lines, std::uint64_t count) {
  {
    const std::scoped_lock lock(mutex_);
    if (pending_.size() + lines.size() > pending_bytes_max) {
      dropped_ += count;
      return;
    }
    if (pending_.empty()) {
      pending_.swap(lines);
    } else {
      pending_.append(lines);
    }
  }
  wake_.notify_one();
}

void AccessLog::write_until_stopped() {
  std::string lines;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !pending_.empty(); });
    if (pending_.empty()) return;
    lines.clear();
    lines.swap(pending_);
    const auto dropped = std::exchange(dropped_, 0);
    lock.unlock();
    writer_(lines);
    if (dropped > 0) spdlog::warn("access log: {} lines dropped: the log is read too slowly", dropped);
    lock.lock();
  }
}

}  // namespace octavo::server

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "config/settings.h"

namespace octavo::server {

/// One finished request for the access log. The views need to live only during AccessLog::Buffer::add.
struct AccessLogEntry {
  std::string_view request_id;
  std::string_view peer;
  std::string_view user;  ///< empty: anonymous
  std::string_view method;
  std::string_view target;  ///< values of password-like query parameters are replaced
  int status = 0;
  std::uint64_t bytes = 0;  ///< of the reply's body
  std::chrono::microseconds duration{0};
};

/// `target` with the values of `password`, `token`, `access_token` and `secret` query parameters replaced by `***`, and
/// with everything except printable ASCII escaped, so that a line of the log stays one line of text.
std::string loggable_target(std::string_view target);

/// The access log. Each I/O thread fills its own buffer and one thread writes them, so that neither a lock per request
/// nor a slow reader of the log delays a request. Lines beyond the bound are dropped and counted.
class AccessLog {
 public:
  using Writer = std::function<void(std::string_view lines)>;

  AccessLog(config::LogFormat format, Writer writer);
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  /// Belongs to one I/O thread, which flushes it at each tick. Also flushed when it is large.
  class Buffer {
   public:
    explicit Buffer(AccessLog& log) : log_(log) {}
    ~Buffer() { flush(); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    void add(const AccessLogEntry& entry);
    void flush();

   private:
    void add_time(std::chrono::system_clock::time_point now);

    AccessLog& log_;
    std::string lines_;
    std::uint64_t count_ = 0;
    std::int64_t second_ = 0;
    std::string second_text_;  // "2025-01-31T23:59:59", updated once a second
  };

 private:
  void hand_over(std::string& lines, std::uint64_t count);
  void write_until_stopped();

  const config::LogFormat format_;
  const Writer writer_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::string pending_;
  std::uint64_t dropped_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace octavo::server

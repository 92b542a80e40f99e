#include "bench/load.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include "bench/http_client.h"
#include "bench/reply_parser.h"

namespace octavo::bench {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int silence_timeout_ms = 30'000;

struct Connection {
  int descriptor = -1;
  ReplyParser parser;
  std::string outgoing;
  std::size_t sent = 0;
  bool busy = false;
  bool waits_to_write = false;
  Clock::time_point started;
  std::string error_body;
};

class Loop {
 public:
  Loop(const LoadOptions& options, const RequestSource& next_request)
      : options_(options),
        next_request_(next_request),
        poll_(::epoll_create1(EPOLL_CLOEXEC)),
        connections_(options.connections) {
    for (auto& connection : connections_) {
      connection.descriptor = connect_loopback(options.port);
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.ptr = &connection;
      ::epoll_ctl(poll_, EPOLL_CTL_ADD, connection.descriptor, &event);
    }
  }

  ~Loop() {
    for (auto& connection : connections_) ::close(connection.descriptor);
    ::close(poll_);
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  LoadResult run() {
    begin_ = Clock::now() + options_.warm_up;
    end_ = begin_ + options_.duration;
    for (auto& connection : connections_) start_next(connection, Clock::now());

    std::array<epoll_event, 256> events;
    while (busy_ > 0) {
      const int count = ::epoll_wait(poll_, events.data(), events.size(), silence_timeout_ms);
      if (count == 0) throw std::runtime_error("the server is silent");
      for (int i = 0; i < count; ++i) {
        auto& connection = *static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
        if (connection.waits_to_write) write(connection);
        if (events[static_cast<std::size_t>(i)].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read(connection);
      }
    }
    result_.seconds = std::chrono::duration<double>(std::min(last_, end_) - begin_).count();
    return std::move(result_);
  }

 private:
  void start_next(Connection& connection, Clock::time_point now) {
    connection.busy = now < end_ && index_ < options_.requests_max;
    if (!connection.busy) return;
    ++busy_;
    connection.outgoing.clear();
    connection.sent = 0;
    connection.parser.reset();
    connection.error_body.clear();
    next_request_(connection.outgoing, index_++);
    connection.started = now;
    write(connection);
  }

  void write(Connection& connection) {
    while (connection.sent < connection.outgoing.size()) {
      const auto count = ::send(connection.descriptor, connection.outgoing.data() + connection.sent,
                                connection.outgoing.size() - connection.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
        watch(connection, EPOLLIN | EPOLLOUT);
        return;
      }
      if (count < 0) throw std::runtime_error(fmt::format("send: {}", std::strerror(errno)));
      connection.sent += static_cast<std::size_t>(count);
    }
    if (connection.waits_to_write) watch(connection, EPOLLIN);
  }

  void watch(Connection& connection, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = &connection;
    ::epoll_ctl(poll_, EPOLL_CTL_MOD, connection.descriptor, &event);
    connection.waits_to_write = events & EPOLLOUT;
  }

  void read(Connection& connection) {
    const auto count = ::recv(connection.descriptor, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (count <= 0) throw std::runtime_error("the server closed a connection");
    const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(count));
    const auto used = connection.parser.feed(bytes);
    if (connection.parser.malformed() || used != bytes.size()) throw std::runtime_error("malformed reply");
    if (connection.parser.status() != options_.expected_status && result_.first_error.empty()) {
      connection.error_body += bytes;
    }
    if (connection.parser.done()) finish(connection);
  }

  void finish(Connection& connection) {
    const auto now = Clock::now();
    --busy_;
    if (connection.parser.status() != options_.expected_status) {
      ++result_.errors;
      if (result_.first_error.empty()) result_.first_error = connection.error_body.substr(0, 600);
    } else if (now >= begin_ && now <= end_) {
      ++result_.requests;
      result_.body_bytes += connection.parser.body_bytes();
      result_.latencies.add(now - connection.started);
    }
    last_ = now;
    start_next(connection, now);
  }

  const LoadOptions& options_;
  const RequestSource& next_request_;
  int poll_;
  std::vector<Connection> connections_;
  LoadResult result_;
  Clock::time_point begin_, end_, last_;
  std::uint64_t index_ = 0;
  std::size_t busy_ = 0;
  std::array<char, 256 * 1024> buffer_;
};

}  // namespace

double Latencies::quantile_ms(double quantile) const {
  if (nanoseconds_.empty()) return 0;
  auto sorted = nanoseconds_;
  const auto position = static_cast<std::size_t>(quantile * static_cast<double>(sorted.size() - 1));
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(position));
  return static_cast<double>(sorted[position]) / 1e6;
}

LoadResult run_load(const LoadOptions& options, const RequestSource& next_request) {
  Loop loop(options, next_request);
  return loop.run();
}

}  // namespace octavo::bench

#include "bench/http_client.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

namespace octavo::bench {

int connect_loopback(std::uint16_t port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (descriptor < 0 || ::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    if (descriptor >= 0) ::close(descriptor);
    throw std::runtime_error(fmt::format("cannot connect to 127.0.0.1:{}: {}", port, std::strerror(error)));
  }
  const int on = 1;
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return descriptor;
}

void append_request(std::string& out, std::string_view method, std::string_view target, std::string_view body) {
  fmt::format_to(std::back_inserter(out), "{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n", method,
                 target);
  if (!body.empty()) {
    fmt::format_to(std::back_inserter(out), "Content-Type: application/json\r\nContent-Length: {}\r\n", body.size());
  } else if (method == "PUT" || method == "POST") {
    out += "Content-Length: 0\r\n";
  }
  out += "\r\n";
  out += body;
}

HttpClient::HttpClient(std::uint16_t port) : socket_(connect_loopback(port)) {}

HttpClient::~HttpClient() {
  ::close(socket_);
}

void HttpClient::send(std::string_view method, std::string_view target, std::string_view body) {
  std::string bytes;
  append_request(bytes, method, target, body);
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const auto sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0) throw std::runtime_error(fmt::format("send: {}", std::strerror(errno)));
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  parser_.reset();
  streamed_.clear();
}

template <class Stop>
void HttpClient::read_while(Stop&& more, const ReplyParser::BodySink* sink) {
  std::array<char, 256 * 1024> buffer;
  while (more()) {
    if (unparsed_.empty()) {
      const auto count = ::recv(socket_, buffer.data(), buffer.size(), 0);
      if (count <= 0) throw std::runtime_error("the server closed the connection");
      unparsed_.assign(buffer.data(), static_cast<std::size_t>(count));
    }
    unparsed_.erase(0, parser_.feed(unparsed_, sink));
    if (parser_.malformed()) throw std::runtime_error("malformed reply");
  }
}

HttpReply HttpClient::receive() {
  HttpReply reply;
  const ReplyParser::BodySink sink = [&](std::string_view bytes) { reply.body += bytes; };
  read_while([&] { return !parser_.done(); }, &sink);
  reply.status = parser_.status();
  return reply;
}

std::uint64_t HttpClient::receive_and_count() {
  read_while([&] { return !parser_.done(); }, nullptr);
  return parser_.body_bytes();
}

void HttpClient::receive_until(std::string_view text, int timeout_ms) {
  const ReplyParser::BodySink sink = [&](std::string_view bytes) { streamed_ += bytes; };
  read_while(
      [&] {
        if (const auto found = streamed_.find(text); found != std::string::npos) {
          streamed_.erase(0, found + text.size());
          return false;
        }
        if (parser_.done()) throw std::runtime_error("the feed ended");
        pollfd waiting{socket_, POLLIN, 0};
        if (unparsed_.empty() && ::poll(&waiting, 1, timeout_ms) == 0) throw std::runtime_error("the feed is silent");
        return true;
      },
      &sink);
}

HttpReply HttpClient::request(std::string_view method, std::string_view target, std::string_view body) {
  send(method, target, body);
  return receive();
}

HttpReply HttpClient::expect(int status, std::string_view method, std::string_view target, std::string_view body) {
  auto reply = request(method, target, body);
  if (reply.status != status) {
    throw std::runtime_error(
        fmt::format("{} {}: expected {}, got {}: {}", method, target, status, reply.status, reply.body.substr(0, 500)));
  }
  return reply;
}

}  // namespace octavo::bench

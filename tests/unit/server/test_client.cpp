#include "unit/server/test_client.h"

#include <arpa/inet.h>
#include <cctype>
#include <charconv>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace octavo::server::test {

Client::Client(std::uint16_t port) {
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) close();
}

Client::~Client() {
  close();
}

void Client::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void Client::end_sending() {
  ::shutdown(socket_, SHUT_WR);
}

void Client::shrink_receive_buffer() {
  const int bytes = 4096;
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
}

bool Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Client::read_more() {
  pollfd poll_for{socket_, POLLIN, 0};
  if (::poll(&poll_for, 1, static_cast<int>(client_patience.count())) <= 0) return false;
  char buffer[16384];
  const auto bytes = ::recv(socket_, buffer, sizeof(buffer), 0);
  if (bytes <= 0) return false;
  received_.append(buffer, static_cast<std::size_t>(bytes));
  return true;
}

bool Client::read_until(std::string_view text) {
  while (received_.find(text) == std::string::npos) {
    if (!read_more()) return false;
  }
  return true;
}

bool Client::ended(std::chrono::milliseconds patience) {
  pollfd poll_for{socket_, POLLIN, 0};
  if (!received_.empty() || ::poll(&poll_for, 1, static_cast<int>(patience.count())) <= 0) return false;
  char byte = 0;
  return ::recv(socket_, &byte, 1, 0) <= 0;
}

ClientReply Client::ask(std::string_view request) {
  if (!send(request)) return {};
  return read_reply();
}

ClientReply Client::read_reply(bool head_only) {
  ClientReply reply;
  if (!read_until("\r\n\r\n")) return reply;
  const auto head_end = received_.find("\r\n\r\n") + 2;
  std::string_view head{received_.data(), head_end};
  reply.status = std::stoi(received_.substr(9, 3));
  head.remove_prefix(head.find("\r\n") + 2);
  while (!head.empty()) {
    const auto line = head.substr(0, head.find("\r\n"));
    head.remove_prefix(line.size() + 2);
    const auto colon = line.find(':');
    std::string name{line.substr(0, colon)};
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    reply.headers[name] = line.substr(colon + 2);
  }
  received_.erase(0, head_end + 2);
  if (head_only || reply.status == 100 || reply.status == 204 || reply.status == 304) {
    reply.complete = true;
  } else if (reply.headers.contains("content-length")) {
    const auto length = std::stoul(reply.headers["content-length"]);
    while (received_.size() < length && read_more()) {
    }
    reply.complete = received_.size() >= length;
    reply.body = received_.substr(0, length);
    received_.erase(0, reply.body.size());
  } else if (reply.headers.contains("transfer-encoding")) {
    for (;;) {
      if (!read_until("\r\n")) return reply;
      std::size_t size = 0;
      const auto line_end = received_.find("\r\n");
      std::from_chars(received_.data(), received_.data() + line_end, size, 16);
      while (received_.size() < line_end + 2 + size + 2) {
        if (!read_more()) return reply;
      }
      reply.body += received_.substr(line_end + 2, size);
      received_.erase(0, line_end + 2 + size + 2);
      if (size == 0) break;
      reply.chunks.push_back(size);
    }
    reply.complete = true;
  } else {
    while (read_more()) {
    }
    reply.body = std::exchange(received_, {});
    reply.complete = true;
  }
  return reply;
}

std::string get(std::string_view target, std::string_view extra) {
  return "GET " + std::string{target} + " HTTP/1.1\r\nHost: test\r\n" + std::string{extra} + "\r\n";
}

std::string post(std::string_view target, std::string_view body, std::string_view extra) {
  return "POST " + std::string{target} + " HTTP/1.1\r\nHost: test\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n" + std::string{extra} + "\r\n" + std::string{body};
}

}  // namespace octavo::server::test

#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::server::test {

/// One parsed reply. Header names are in lower case; chunked bodies are joined.
struct ClientReply {
  int status = 0;
  std::map<std::string, std::string> headers;
  std::string body;
  std::vector<std::size_t> chunks;  ///< their sizes, as framed
  bool complete = false;            ///< the body ended as its framing says

  std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string{} : found->second;
  }
};

/// So long a client waits for what it reads: in vain, when a test fails.
constexpr std::chrono::milliseconds client_patience{30'000};

/// A blocking client on a raw socket, so that tests decide on every byte.
class Client {
 public:
  explicit Client(std::uint16_t port);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// False when the server has closed.
  bool send(std::string_view bytes);
  /// The next reply. `head_only`: the reply to HEAD, which has no body whatever its headers say.
  ClientReply read_reply(bool head_only = false);
  /// Sends and reads one.
  ClientReply ask(std::string_view request);
  /// Reads more until `text` has been received; false when the connection ends or time is up first.
  bool read_until(std::string_view text);
  /// Whether the server ends the connection within `patience`, with nothing (more) to read.
  bool ended(std::chrono::milliseconds patience = client_patience);
  /// Everything received and not yet taken by read_reply.
  const std::string& received() const { return received_; }
  /// Ends our direction only.
  void end_sending();
  void close();
  void shrink_receive_buffer();

 private:
  bool read_more();

  int socket_ = -1;
  std::string received_;
};

/// "GET /path HTTP/1.1" with a Host and `extra` header lines (each ending in CR LF).
std::string get(std::string_view target, std::string_view extra = {});
/// A request with a body and its Content-Length.
std::string post(std::string_view target, std::string_view body, std::string_view extra = {});

}  // namespace octavo::server::test

#include "server/process/service_manager.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "support/temporary_folder.h"

using namespace octavo::server;
using octavo::tests::TemporaryFolder;

namespace {

/// A socket such as systemd gives to a service of the type `notify`.
class NotifySocket {
 public:
  explicit NotifySocket(const std::string& path) : descriptor_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof address.sun_path);
    std::ranges::copy(path, address.sun_path);
    REQUIRE(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  ~NotifySocket() {
    ::unsetenv("NOTIFY_SOCKET");
    ::close(descriptor_);
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  /// The next datagram; empty if no datagram is waiting.
  std::string next() const {
    std::array<char, 100> bytes{};
    const auto size = ::recv(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    return size > 0 ? std::string(bytes.data(), static_cast<std::size_t>(size)) : std::string();
  }

 private:
  const int descriptor_;
};

}  // namespace

TEST_CASE("a service manager is told the state of the server") {
  const TemporaryFolder temporary;
  const NotifySocket manager(temporary.path() / "notify");
  CHECK(manager.next().empty());
  notify_service_manager("READY=1");
  notify_service_manager("STOPPING=1");
  CHECK(manager.next() == "READY=1");
  CHECK(manager.next() == "STOPPING=1");
}

TEST_CASE("a server without a service manager sends no message") {
  ::unsetenv("NOTIFY_SOCKET");
  notify_service_manager("READY=1");
  const std::string too_long = "/" + std::string(300, 'x');
  for (const char* path : {"", "/missing/notify", too_long.c_str()}) {
    ::setenv("NOTIFY_SOCKET", path, 1);
    notify_service_manager("READY=1");
  }
  ::unsetenv("NOTIFY_SOCKET");
}

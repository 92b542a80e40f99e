#include "analytics/channel/channel.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <simdjson.h>

#include "query/json/parsed_document.h"

namespace octavo::analytics {

namespace {

constexpr std::size_t head_bytes = 5;
constexpr std::size_t reason_bytes_max = 16ULL << 10;

// DuckDB shows a part of the statement, and may cut through a character.
std::string readable(std::string_view reason) {
  std::string text(reason.substr(0, reason_bytes_max));
  if (simdjson::validate_utf8(text.data(), text.size())) return text;
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return text;
}

std::unexpected<Error> gone() {
  return fail(ErrorCode::overloaded, "The analytical process has ended; it starts again soon.");
}

// Words live as long as the program: those that the process sends are looked up here.
constexpr std::array<std::string_view, 8> known_words{"memory_limit",  "invalid_sql",   "analytics_library",
                                                      "query_timeout", "export_syntax", "export_limit",
                                                      "export_folder", "export_running"};

/// One byte, as a message must have, and room for one descriptor.
struct DescriptorMessage {
  DescriptorMessage() {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;

  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};
};

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Expected<std::pair<Descriptor, Descriptor>> socket_pair(int type) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail(ErrorCode::overloaded, fmt::format("No socket could be made: {}.", std::strerror(errno)));
  }
  return std::pair(Descriptor(ends[0]), Descriptor(ends[1]));
}

Expected<void> send_descriptor(const Descriptor& socket, const Descriptor& passed) {
  DescriptorMessage message;
  cmsghdr* const header = CMSG_FIRSTHDR(&message.header);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int number = passed.get();
  std::memcpy(CMSG_DATA(header), &number, sizeof number);
  while (::sendmsg(socket.get(), &message.header, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return gone();
  }
  return {};
}

std::optional<Descriptor> receive_descriptor(const Descriptor& socket) {
  while (true) {
    DescriptorMessage message;
    const ssize_t count = ::recvmsg(socket.get(), &message.header, MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    const cmsghdr* const header = CMSG_FIRSTHDR(&message.header);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) continue;
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof number);
    return Descriptor(number);
  }
}

Expected<void> Channel::send(FrameKind kind, std::string_view payload) {
  if (payload.size() > request_bytes_max) {
    return fail(ErrorCode::too_large, "The document is too large for the analytical store.");
  }
  std::array<char, head_bytes> head{};
  const auto length = static_cast<std::uint32_t>(payload.size());
  std::memcpy(head.data(), &length, sizeof length);
  head[4] = static_cast<char>(kind);
  std::array<iovec, 2> parts{iovec{head.data(), head.size()}, iovec{const_cast<char*>(payload.data()), payload.size()}};
  std::size_t sent = 0;
  const std::size_t total = head_bytes + payload.size();
  while (sent < total) {
    std::array<iovec, 2> rest = parts;
    const std::size_t of_head = std::min(sent, head_bytes);
    rest[0] = {head.data() + of_head, head_bytes - of_head};
    const std::size_t of_payload = sent - of_head;
    rest[1] = {const_cast<char*>(payload.data()) + of_payload, payload.size() - of_payload};
    msghdr message{};
    message.msg_iov = rest.data();
    message.msg_iovlen = rest.size();
    const ssize_t count = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return gone();
    sent += static_cast<std::size_t>(count);
  }
  return {};
}

Expected<void> Channel::read_all(char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t got = ::recv(socket_.get(), bytes, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return gone();
    bytes += got;
    count -= static_cast<std::size_t>(got);
  }
  return {};
}

Expected<std::optional<Frame>> Channel::receive(Milliseconds patience, std::size_t payload_max) {
  pollfd state{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  const int ready = ::poll(&state, 1, static_cast<int>(patience.count()));
  if (ready == 0 || (ready < 0 && errno == EINTR)) return std::nullopt;
  OCTAVO_TRY(Frame frame, receive(payload_max));
  return frame;
}

Expected<Frame> Channel::receive(std::size_t payload_max) {
  std::array<char, head_bytes> head{};
  OCTAVO_TRY_VOID(read_all(head.data(), head.size()));
  std::uint32_t length = 0;
  std::memcpy(&length, head.data(), sizeof length);
  if (length > payload_max) return gone();
  Frame frame{static_cast<FrameKind>(head[4]), std::string(length, '\0')};
  OCTAVO_TRY_VOID(read_all(frame.payload.data(), length));
  return frame;
}

void Channel::shut_down() const {
  ::shutdown(socket_.get(), SHUT_RDWR);
}

std::string failure_payload(const Error& error) {
  return boost::json::serialize(boost::json::object{
      {"code", static_cast<int>(error.code)}, {"reason", readable(error.reason)}, {"word", error.word}});
}

Error error_of_payload(std::string_view payload) {
  const auto parsed = query::parse_json(payload);
  if (!parsed || !parsed->is_object()) return Error{ErrorCode::internal, "The analytical process sent no error.", {}};
  const auto& object = parsed->get_object();
  const auto* const code = object.if_contains("code");
  Error error;
  if (code != nullptr && code->is_int64() && code->get_int64() >= 0 &&
      code->get_int64() <= static_cast<int>(ErrorCode::internal)) {
    error.code = static_cast<ErrorCode>(code->get_int64());
  }
  error.reason = query::text_member(object, "reason");
  const std::string word = query::text_member(object, "word");
  for (const std::string_view known : known_words) {
    if (known == word) error.word = known;
  }
  return error;
}

}  // namespace octavo::analytics

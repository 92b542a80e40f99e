#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

/// How the server and the analytical process (`octavo analytics`) talk. The process inherits one socket, the control
/// socket. For each operation, which is a query or what follows a database, the server makes a pair of sockets and
/// passes one over the control socket. So operations do not wait for each other, a slow reader slows down only its own,
/// and an operation ends when its socket is closed. No socket has a name: other processes cannot reach this one.
namespace octavo::analytics {

/// A file descriptor that is closed with it.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();
  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

/// Two connected sockets of this type (SOCK_STREAM, SOCK_SEQPACKET). Error overloaded: no descriptor is left.
Expected<std::pair<Descriptor, Descriptor>> socket_pair(int type);

/// Passes a descriptor over a socket of the type SOCK_SEQPACKET.
Expected<void> send_descriptor(const Descriptor& socket, const Descriptor& passed);
/// nullopt: the other end is closed.
std::optional<Descriptor> receive_descriptor(const Descriptor& socket);

/// What a frame has.
enum class FrameKind : std::uint8_t {
  open_table = 1,     ///< to the process: JSON {file, as, include, beyond, rereads, build, ended, building,
                      ///< is_beside}
  apply = 2,          ///< to the process: a batch of changes (batch.h)
  remove = 3,         ///< to the process: ids (batch.h)
  list_ids = 4,       ///< to the process: JSON {after, count}
  run_sql = 5,        ///< to the process: JSON {table: {file, as}, sql, parameters, format, export_ms}, or
                      ///< {group: [{file, as}, …], as, …}
  read_status = 6,    ///< to the process: JSON {file, as}
  export_folder = 7,  ///< to the process: JSON {table: {file, as}, name, parent, folder, owner, partition_by,
                      ///< export_ms}; `name`: of one of its tables
  expire = 8,         ///< to the process: JSON {written_before_s, deleted, count}
  take_place = 9,     ///< to the process: nothing; the table takes the place of the one that it was built beside
  reply = 16,         ///< from the process: JSON
  rows = 17,          ///< from the process: a piece of a result
  end = 18,           ///< from the process: the result is complete
  failure = 19        ///< from the process: JSON {code, reason, word}
};

struct Frame {
  FrameKind kind = FrameKind::failure;
  std::string payload;
};

/// One operation: frames in both directions. One thread at a time, except that shut_down() may be called by another.
///
/// On the socket a frame is its length (four bytes), its kind (one byte) and its payload.
class Channel {
 public:
  using Milliseconds = std::chrono::milliseconds;
  /// What the process sends at once, at most; of a result less, so that the server's memory does not grow with a row.
  static constexpr std::size_t answer_bytes_max = 64ULL << 20;
  static constexpr std::size_t rows_bytes_max = 256ULL << 10;
  /// What the server sends at once: a batch, which ends with a document of any size.
  static constexpr std::size_t request_bytes_max = 1'200ULL << 20;

  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  /// Blocks until the other side has room. Error overloaded: it is gone.
  Expected<void> send(FrameKind kind, std::string_view payload);
  /// Waits for a frame. nullopt: none has begun within `patience`. Errors: overloaded: the other side is gone, or sends
  /// more than `payload_max` at once.
  Expected<std::optional<Frame>> receive(Milliseconds patience, std::size_t payload_max = answer_bytes_max);
  /// Waits without an end.
  Expected<Frame> receive(std::size_t payload_max = answer_bytes_max);
  /// Both sides find that the other is gone.
  void shut_down() const;
  int descriptor() const { return socket_.get(); }

 private:
  Expected<void> read_all(char* bytes, std::size_t count);

  Descriptor socket_;
};

/// An error as the payload of FrameKind::failure, and back. A reason that is long is cut off.
std::string failure_payload(const Error& error);
Error error_of_payload(std::string_view payload);

}  // namespace octavo::analytics

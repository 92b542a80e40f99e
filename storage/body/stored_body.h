#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo::storage {

/// Memory for the JSON of a packed body. Views into it stay valid when the buffer is moved.
class BodyBuffer {
 public:
  /// At least `bytes` bytes, whose former content is lost.
  char* reserve(std::size_t bytes);

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
};

/// The body of a revision as it is stored: JSON, or packed (compressed). What is packed cannot be read by mistake: the
/// JSON is reached through open() alone. A view.
///
/// Format (packed body):
///   packed body := size:varint frame      size: of the JSON; frame: one of Zstandard (RFC 8878) with a checksum
///   stored body := JSON object | 00 packed body      where no flag tells which of the two it is
class StoredBody {
 public:
  /// `{}`.
  StoredBody() = default;
  static StoredBody of_json(std::string_view json);
  /// `bytes`: a packed body. Error corrupted: it is damaged, as far as that shows without opening it.
  static Expected<StoredBody> of_packed(std::string_view bytes);
  /// `bytes`: a stored body. Errors: as above.
  static Expected<StoredBody> decode(std::string_view bytes);

  bool is_packed() const { return packed_; }
  /// Size of the JSON, which open() verifies.
  std::size_t size() const { return size_; }
  /// The JSON or the packed body, to be stored.
  std::string_view bytes() const { return bytes_; }
  /// Appends the stored form, which decode() reads.
  void encode(std::string& out) const;

  /// The JSON: a view into `buffer` if it is packed, else into what this was made of. Error corrupted: it is damaged.
  Expected<std::string_view> open(BodyBuffer& buffer) const;

 private:
  friend class OwnedBody;
  StoredBody(std::string_view bytes, std::size_t size, bool packed) : bytes_(bytes), size_(size), packed_(packed) {}

  std::string_view bytes_ = "{}";
  std::size_t size_ = 2;
  bool packed_ = false;
};

/// A copy of a stored body.
class OwnedBody {
 public:
  OwnedBody() = default;
  explicit OwnedBody(const StoredBody& body) { assign(body); }
  void assign(const StoredBody& body) {
    bytes_.assign(body.bytes_);
    size_ = body.size_;
    packed_ = body.packed_;
  }
  StoredBody view() const { return {bytes_, size_, packed_}; }

 private:
  std::string bytes_ = "{}";
  std::size_t size_ = 2;
  bool packed_ = false;
};

/// Shorter bodies stay JSON: a page has several of them anyway, and each read would have to open them.
inline constexpr std::size_t packed_json_bytes_min = 1024;

/// Whether pack_body() may be of use.
inline bool may_pack(std::string_view json) {
  return json.size() >= packed_json_bytes_min;
}
/// The packed body of `json`; empty if that would not save an eighth of it. Takes about 3 ms for a megabyte.
std::string pack_body(std::string_view json);

}  // namespace octavo::storage

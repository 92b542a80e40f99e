#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace octavo {

/// Appends the primitives that record formats consist of. Fixed-size integers are little endian, except in keys.
///
/// Format (primitives):
///   u8, u16, u32, u48, u64     an integer with this number of bits; little endian in records
///   u16be, u32be, u64be        the same, big endian: in keys, so that they sort by value
///   varint                     seven bits a byte, the lowest first; the top bit says that another byte follows
///   sized := size:varint bytes
///   name:type                  a value and its type; name[16]: 16 bytes; x*: any number; x?, [x]: may be absent
class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}
  void u8(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void u64(std::uint64_t value) { fixed<8>(value); }
  void u48(std::uint64_t value) { fixed<6>(value); }
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      u8(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    u8(static_cast<std::uint8_t>(value));
  }
  void bytes(std::string_view value) { out_.append(value); }
  void sized_bytes(std::string_view value) {
    varint(value.size());
    out_.append(value);
  }

 private:
  template <std::size_t size>
  void fixed(std::uint64_t value) {
    if constexpr (std::endian::native == std::endian::big) value = std::byteswap(value);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    out_.append(raw, size);
  }
  std::string& out_;
};

/// Reads them back. Never reads past the end: after a short read ok() is false and all values are zero or empty.
class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}
  bool ok() const { return ok_; }
  std::string_view rest() const { return in_; }
  std::uint8_t u8() {
    if (in_.empty()) {
      ok_ = false;
      return 0;
    }
    const auto value = static_cast<std::uint8_t>(in_.front());
    in_.remove_prefix(1);
    return value;
  }
  std::uint64_t u64() { return fixed<8>(); }
  std::uint64_t u48() { return fixed<6>(); }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = u8();
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  std::string_view bytes(std::size_t size) {
    if (size > in_.size()) {
      ok_ = false;
      in_ = {};
      return {};
    }
    const std::string_view value(in_.data(), size);
    in_.remove_prefix(size);
    return value;
  }
  std::string_view sized_bytes() { return bytes(varint()); }

 private:
  template <std::size_t size>
  std::uint64_t fixed() {
    const std::string_view raw = bytes(size);
    std::uint64_t value = 0;
    if (raw.empty()) return value;
    std::memcpy(&value, raw.data(), size);
    return std::endian::native == std::endian::big ? std::byteswap(value) : value;
  }
  std::string_view in_;
  bool ok_ = true;
};

/// Big-endian, so that keys sort by value.
inline void append_key_u64(std::string& out, std::uint64_t value) {
  if constexpr (std::endian::native == std::endian::little) value = std::byteswap(value);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}
inline std::uint64_t read_key_u64(std::string_view key) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8 && i < key.size(); ++i) value = value << 8 | static_cast<unsigned char>(key[i]);
  return value;
}

}  // namespace octavo

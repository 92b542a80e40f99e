#include "server/http/http2_opening.h"

#include "base/assert.h"

namespace octavo::server {
namespace {

constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::string_view preface_head = "PRI * HTTP/2.0\r\n\r\n";
constexpr std::size_t frame_head_bytes = 9;

enum class Frame : std::uint8_t { headers = 1, reset = 3, settings = 4, go_away = 7 };
constexpr std::uint32_t http_1_1_required = 13;

std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (const char byte : bytes) value = value << 8U | static_cast<unsigned char>(byte);
  return value;
}

void append_big_endian(std::string& out, std::uint32_t value, unsigned bytes) {
  while (bytes-- > 0) out.push_back(static_cast<char>(value >> (8 * bytes) & 0xFFU));
}

void append_frame_head(std::string& out, std::uint32_t payload_bytes, Frame type, std::uint32_t stream) {
  append_big_endian(out, payload_bytes, 3);
  out.push_back(static_cast<char>(type));
  out.push_back(0);  // no flags
  append_big_endian(out, stream, 4);
}

}  // namespace

bool begins_http2(std::string_view input) {
  return input.starts_with(preface_head);
}

std::optional<std::uint32_t> first_http2_stream(std::string_view input) {
  OCTAVO_ASSERT(begins_http2(input));
  std::size_t at = preface.size();
  while (at + frame_head_bytes <= input.size()) {
    const auto head = input.substr(at, frame_head_bytes);
    if (head[3] == static_cast<char>(Frame::headers)) return big_endian(head.substr(5)) & 0x7FFFFFFFU;
    at += frame_head_bytes + big_endian(head.substr(0, 3));
  }
  return std::nullopt;
}

void append_http_1_1_required(std::string& out, std::uint32_t stream) {
  append_frame_head(out, 0, Frame::settings, 0);
  append_frame_head(out, 4, Frame::reset, stream);
  append_big_endian(out, http_1_1_required, 4);
  append_frame_head(out, 8, Frame::go_away, 0);
  append_big_endian(out, stream, 4);
  append_big_endian(out, http_1_1_required, 4);
}

}  // namespace octavo::server

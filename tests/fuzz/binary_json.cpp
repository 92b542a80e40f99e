// Bodies in binary JSON: any bytes, and arrays of strings, or one packed string, whose text is known.
#include "api/cosmos/call/binary_json.h"

#include <algorithm>
#include <string>

#include "base/json_writer.h"
#include "fuzz/target.h"

namespace {

using namespace octavo;
using octavo::fuzz::InputReader;
using octavo::fuzz::require;

constexpr std::size_t growth_max = 8;
constexpr std::size_t short_text_bytes = 1024;

void read_any(std::string_view bytes) {
  const std::string body = '\x80' + std::string(bytes);
  require(api::cosmos::is_binary_json(body), "the first byte tells");
  const auto text = api::cosmos::text_of_binary_json(body);
  if (text) {
    require(text->size() <= std::max(growth_max * body.size(), short_text_bytes),
            "a text is not much longer than its body");
  } else {
    require(text.error().code == ErrorCode::bad_request || text.error().code == ErrorCode::too_large,
            "a bad body is a bad request");
  }
}

void read_strings(InputReader& in) {
  constexpr std::size_t content_max = 0xFF;
  std::string content;
  std::string text = "[";
  while (!in.empty() && content.size() + 64 < content_max) {
    const std::string_view value = in.bytes(in.byte() % 64);
    content += static_cast<char>(0x80 + value.size());
    content += value;
    if (text.size() > 1) text += ',';
    append_json_string(text, value);
  }
  text += ']';
  const auto read =
      api::cosmos::text_of_binary_json("\x80\xE2" + std::string(1, static_cast<char>(content.size())) + content);
  require(read && *read == text, "an array of strings is read");
}

// A string of 4 to 7 bits a character, whose first character is the one of the bits 0.
void read_packed(InputReader& in) {
  constexpr std::size_t size_max = 0xFF;
  const unsigned bits = 4 + in.byte() % 4;
  const unsigned base = bits == 7 ? 0 : in.byte() % 128;
  std::string value;
  std::string packed;
  unsigned waiting = 0;
  unsigned waiting_bits = 0;
  while (!in.empty() && value.size() < size_max) {
    const unsigned number = in.byte() % (1U << bits);
    value += static_cast<char>(base + number);
    waiting |= number << waiting_bits;
    waiting_bits += bits;
    if (waiting_bits < 8) continue;
    packed += static_cast<char>(waiting);
    waiting >>= 8;
    waiting_bits -= 8;
  }
  if (waiting_bits > 0) packed += static_cast<char>(waiting);
  std::string body = "\x80\xE1" + std::string(1, static_cast<char>(0x77 + bits)) + static_cast<char>(value.size());
  if (bits < 7) body += static_cast<char>(base);
  std::string text = "[";
  append_json_string(text, value);
  text += ']';
  const auto read = api::cosmos::text_of_binary_json(body + packed);
  if (read) {
    require(*read == text, "a packed string is read");
  } else {
    require(read.error().code == ErrorCode::too_large && text.size() > growth_max * (body.size() + packed.size()),
            "a packed string is read unless its text is too long");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputReader in(octavo::fuzz::text_of(data, size));
  const std::uint8_t kind = in.byte();
  if (kind % 4 == 0) {
    read_strings(in);
  } else if (kind % 8 == 5) {
    read_packed(in);
  } else {
    read_any(in.rest());
  }
  return 0;
}

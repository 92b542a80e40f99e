#include "server/http/compression.h"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>

#include "api/http/request.h"
#include "base/ascii_case.h"

namespace octavo::server {
namespace {

// JSON shrinks to about a quarter even at low levels, and the client waits for the reply.
constexpr int compression_level = 3;
constexpr int raw_deflate_window_bits = -15;
constexpr int zlib_window_bits = 15;
constexpr int gzip_window_bits = 15 + 16;
constexpr std::string_view last_empty_block{"\x03\x00", 2};
constexpr std::string_view gzip_header{"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10};  // deflate, no time, Unix
constexpr std::string_view zlib_header{"\x78\x5e", 2};

// Calls `visit` with each trimmed element of a separated list.
template <class Visit>
void for_each_element(std::string_view list, char separator, Visit visit) {
  while (!list.empty()) {
    const auto end = list.find(separator);
    visit(api::trim_blanks(list.substr(0, end)));
    if (end == std::string_view::npos) break;
    list.remove_prefix(end + 1);
  }
}

// A q-value in thousandths; 1000 if absent, -1 if malformed.
int parse_quality(std::string_view parameters) {
  int quality = 1000;
  for_each_element(parameters, ';', [&](std::string_view parameter) {
    if (parameter.size() < 3 || (parameter[0] != 'q' && parameter[0] != 'Q') || parameter[1] != '=') return;
    const auto digits = parameter.substr(2);
    if (digits[0] != '0' && digits[0] != '1') {
      quality = -1;
      return;
    }
    int value = (digits[0] - '0') * 1000;
    int weight = 100;
    for (std::size_t i = 2; i < digits.size() && weight > 0; ++i, weight /= 10) {
      if (digits[i] < '0' || digits[i] > '9') value = -1;
      if (value < 0) break;
      value += (digits[i] - '0') * weight;
    }
    quality = std::min(value, 1000);
  });
  return quality;
}

z_stream& set_input(z_stream& stream, std::string_view bytes) {
  // zlib's interface has no const.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  return stream;
}

void append_little_endian(std::uint32_t value, std::string& out) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

void append_big_endian(std::uint32_t value, std::string& out) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

}  // namespace

std::string_view to_string(ContentCoding coding) {
  switch (coding) {
    case ContentCoding::gzip:
      return "gzip";
    case ContentCoding::deflate:
      return "deflate";
    default:
      return "identity";
  }
}

ContentCoding choose_coding(std::string_view accept_encoding) {
  int gzip = -1;
  int deflate = -1;
  int identity = -1;
  int any = -1;
  for_each_element(accept_encoding, ',', [&](std::string_view element) {
    const auto semicolon = element.find(';');
    const auto name = api::trim_blanks(element.substr(0, semicolon));
    const int quality = semicolon == std::string_view::npos ? 1000 : parse_quality(element.substr(semicolon + 1));
    if (equals_ignoring_case(name, "gzip") || equals_ignoring_case(name, "x-gzip")) gzip = quality;
    if (equals_ignoring_case(name, "deflate")) deflate = quality;
    if (equals_ignoring_case(name, "identity")) identity = quality;
    if (name == "*") any = quality;
  });
  if (gzip < 0) gzip = std::max(any, 0);
  if (deflate < 0) deflate = std::max(any, 0);
  // An unnamed identity is acceptable, but worse than anything named.
  identity = std::max(identity, 0);
  if (gzip > 0 && gzip >= deflate && gzip >= identity) return ContentCoding::gzip;
  if (deflate > 0 && deflate >= identity) return ContentCoding::deflate;
  return ContentCoding::identity;
}

bool is_compressible(std::string_view content_type) {
  const auto type = api::trim_blanks(content_type.substr(0, content_type.find(';')));
  const auto ends_with = [type](std::string_view suffix) {
    return type.size() >= suffix.size() && equals_ignoring_case(type.substr(type.size() - suffix.size()), suffix);
  };
  if (type.size() > 5 && equals_ignoring_case(type.substr(0, 5), "text/")) return true;
  return ends_with("/json") || ends_with("+json") || ends_with("/xml") || ends_with("+xml") ||
         ends_with("/javascript") || ends_with("/x-ndjson");
}

std::optional<ContentCoding> parse_coding(std::string_view content_encoding) {
  const auto name = api::trim_blanks(content_encoding);
  if (name.empty() || equals_ignoring_case(name, "identity")) return ContentCoding::identity;
  if (equals_ignoring_case(name, "gzip") || equals_ignoring_case(name, "x-gzip")) return ContentCoding::gzip;
  if (equals_ignoring_case(name, "deflate")) return ContentCoding::deflate;
  return std::nullopt;
}

Deflater::~Deflater() {
  if (ready_) deflateEnd(&stream_);
}

void Deflater::add_blocks(std::string_view piece, std::string& out) {
  if (!ready_) {
    // Initialised on first use: most servers never compress. Fails only when out of memory.
    if (deflateInit2(&stream_, compression_level, Z_DEFLATED, raw_deflate_window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
      throw std::bad_alloc();
    }
    ready_ = true;
  } else {
    // Without the reset a piece could refer to bytes of another connection's reply.
    deflateReset(&stream_);
  }
  constexpr std::size_t input_bytes_max = std::numeric_limits<uInt>::max() / 2;
  while (!piece.empty()) {
    const auto part = piece.substr(0, input_bytes_max);
    piece.remove_prefix(part.size());
    set_input(stream_, part);
    do {
      const std::size_t before = out.size();
      const std::size_t room = std::max<std::size_t>(stream_.avail_in / 3, 256);
      out.resize(before + room);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + before);
      stream_.avail_out = static_cast<uInt>(room);
      deflate(&stream_, Z_SYNC_FLUSH);
      out.resize(before + room - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }
}

void CompressedBody::begin(std::string& out) {
  if (std::exchange(begun_, true)) return;
  out.append(coding_ == ContentCoding::gzip ? gzip_header : zlib_header);
}

void CompressedBody::add(Deflater& deflater, std::string_view piece, std::string& out) {
  begin(out);
  const auto* bytes = reinterpret_cast<const Bytef*>(piece.data());
  checksum_ = static_cast<std::uint32_t>(coding_ == ContentCoding::gzip ? crc32_z(checksum_, bytes, piece.size())
                                                                        : adler32_z(checksum_, bytes, piece.size()));
  size_ += static_cast<std::uint32_t>(piece.size());
  deflater.add_blocks(piece, out);
}

void CompressedBody::end(std::string& out) {
  begin(out);
  out.append(last_empty_block);
  if (coding_ == ContentCoding::gzip) {
    append_little_endian(checksum_, out);
    append_little_endian(size_, out);
  } else {
    append_big_endian(checksum_, out);
  }
}

Inflater::Inflater(ContentCoding coding, std::string_view input, std::size_t output_bytes_max)
    : gzip_(coding == ContentCoding::gzip), output_bytes_max_(output_bytes_max) {
  int window_bits = gzip_window_bits;
  if (!gzip_) {
    // `deflate` means the zlib format, but some clients send raw deflate blocks; the header distinguishes them.
    const auto byte = [input](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(input[i])); };
    const bool zlib = input.size() >= 2 && (byte(0) & 0x0f) == Z_DEFLATED && (byte(0) * 256 + byte(1)) % 31 == 0;
    window_bits = zlib ? zlib_window_bits : raw_deflate_window_bits;
  }
  ready_ = inflateInit2(&stream_, window_bits) == Z_OK;
  set_input(stream_, input);
}

Inflater::~Inflater() {
  if (ready_) inflateEnd(&stream_);
}

Inflater::Status Inflater::step(std::string& output, std::size_t bytes) {
  if (!ready_) return Status::corrupt;
  const std::size_t before = output.size();
  // One byte more than allowed, to distinguish "exactly full" from "too large".
  const std::size_t room = std::min(bytes, output_bytes_max_ + 1 - std::min(before, output_bytes_max_ + 1));
  if (room == 0) return Status::too_large;
  output.resize(before + room);
  stream_.next_out = reinterpret_cast<Bytef*>(output.data() + before);
  stream_.avail_out = static_cast<uInt>(room);
  int result = Z_OK;
  while (result == Z_OK && stream_.avail_out > 0) {
    result = inflate(&stream_, Z_NO_FLUSH);
    // A gzip body may consist of several members, one after the other.
    if (result == Z_STREAM_END && gzip_ && stream_.avail_in > 0) result = inflateReset(&stream_);
    if (result == Z_OK && stream_.avail_in == 0 && stream_.avail_out > 0) result = Z_DATA_ERROR;  // truncated
  }
  output.resize(before + room - stream_.avail_out);
  if (output.size() > output_bytes_max_) return Status::too_large;
  if (result == Z_STREAM_END) return stream_.avail_in == 0 ? Status::done : Status::corrupt;
  return result == Z_OK ? Status::more : Status::corrupt;
}

}  // namespace octavo::server

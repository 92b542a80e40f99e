#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <zlib.h>

namespace octavo::server {

enum class ContentCoding : std::uint8_t { identity, gzip, deflate };

/// Name of a coding in Content-Encoding.
std::string_view to_string(ContentCoding coding);

/// The coding for a reply, chosen by the client's Accept-Encoding with q-values; gzip wins a tie. Malformed input means
/// identity.
ContentCoding choose_coding(std::string_view accept_encoding);

/// Whether replies of this type are worth compressing: JSON, text, scripts, XML.
bool is_compressible(std::string_view content_type);

/// The coding of a request body by its Content-Encoding; nullopt if it is not supported (415).
std::optional<ContentCoding> parse_coding(std::string_view content_encoding);

/// Compresses independent pieces: each ends at a byte boundary and does not refer to earlier pieces. One per I/O thread
/// serves all its connections, so that an open stream needs no compressor (256 KB); see CompressedBody. Not
/// thread-safe.
class Deflater {
 public:
  Deflater() = default;
  ~Deflater();
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  /// Appends `piece` as complete deflate blocks.
  void add_blocks(std::string_view piece, std::string& out);

 private:
  z_stream stream_{};
  bool ready_ = false;
};

/// One compressed body, made from a Deflater's pieces. Call add() any number of times, then end().
class CompressedBody {
 public:
  explicit CompressedBody(ContentCoding coding) : coding_(coding) {}
  void add(Deflater& deflater, std::string_view piece, std::string& out);
  void end(std::string& out);

 private:
  void begin(std::string& out);

  bool begun_ = false;
  ContentCoding coding_;
  std::uint32_t size_ = 0;
  std::uint32_t checksum_ = coding_ == ContentCoding::deflate ? 1 : 0;  // start values of Adler-32 and CRC-32
};

/// Decompresses a request body step by step, so that a large one does not block its thread.
class Inflater {
 public:
  enum class Status : std::uint8_t { more, done, corrupt, too_large };

  /// `input` must outlive this. The result may have up to `output_bytes_max` bytes.
  Inflater(ContentCoding coding, std::string_view input, std::size_t output_bytes_max);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Appends about `bytes` more to `output`.
  Status step(std::string& output, std::size_t bytes);

 private:
  z_stream stream_{};
  bool gzip_;
  bool ready_ = false;
  std::size_t output_bytes_max_;
};

}  // namespace octavo::server

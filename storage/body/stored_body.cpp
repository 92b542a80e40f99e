#include "storage/body/stored_body.h"

#include <cstdint>
#include <new>
#include <zstd.h>

#include "base/byte_codec.h"
#include "config/settings.h"

namespace octavo::storage {
namespace {

constexpr char packed_mark = '\0';  ///< no JSON begins with it
constexpr int compression_level = 1;
// A frame consists of blocks: the most bytes of JSON that a block has, and the fewest bytes that it takes.
constexpr std::size_t block_json_bytes_max = 128ULL << 10;
constexpr std::size_t block_bytes_min = 4;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

// One for each thread: to make one costs more than to compress a small body.
ZSTD_CCtx* compressor() {
  thread_local std::unique_ptr<ZSTD_CCtx, FreeContext> context;
  if (context == nullptr) {
    context.reset(ZSTD_createCCtx());
    if (context == nullptr) throw std::bad_alloc();
    // Neither can fail: both values are allowed, and nothing is being compressed.
    (void)ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, compression_level);
    (void)ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  }
  return context.get();
}

ZSTD_DCtx* decompressor() {
  thread_local std::unique_ptr<ZSTD_DCtx, FreeContext> context;
  if (context == nullptr) {
    context.reset(ZSTD_createDCtx());
    if (context == nullptr) throw std::bad_alloc();
  }
  return context.get();
}

std::unexpected<Error> damaged_body() {
  return fail(ErrorCode::corrupted, "A stored body is damaged.");
}

}  // namespace

char* BodyBuffer::reserve(std::size_t bytes) {
  if (bytes > capacity_ || bytes_ == nullptr) {
    bytes_.reset();  // the two need not fit into memory together
    capacity_ = 0;
    bytes_ = std::make_unique_for_overwrite<char[]>(bytes);
    capacity_ = bytes;
  }
  return bytes_.get();
}

StoredBody StoredBody::of_json(std::string_view json) {
  return {json, json.size(), false};
}

// Memory for the JSON is allocated only within these bounds.
Expected<StoredBody> StoredBody::of_packed(std::string_view bytes) {
  ByteReader reader(bytes);
  const std::uint64_t size = reader.varint();
  if (!reader.ok() || size > config::document_bytes_most) return damaged_body();
  if (size / block_json_bytes_max > reader.rest().size() / block_bytes_min) return damaged_body();
  return StoredBody(bytes, static_cast<std::size_t>(size), true);
}

Expected<StoredBody> StoredBody::decode(std::string_view bytes) {
  if (!bytes.starts_with(packed_mark)) return of_json(bytes);
  return of_packed(bytes.substr(1));
}

void StoredBody::encode(std::string& out) const {
  if (packed_) out.push_back(packed_mark);
  out.append(bytes_);
}

Expected<std::string_view> StoredBody::open(BodyBuffer& buffer) const {
  if (!packed_) return bytes_;
  ByteReader reader(bytes_);
  (void)reader.varint();  // the size, which of_packed() has read
  const std::string_view frame = reader.rest();
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != size_) return damaged_body();
  char* json = buffer.reserve(size_);
  const std::size_t size = ZSTD_decompressDCtx(decompressor(), json, size_, frame.data(), frame.size());
  if (ZSTD_isError(size) || size != size_) return damaged_body();
  return std::string_view(json, size);
}

std::string pack_body(std::string_view json) {
  std::string packed;
  if (!may_pack(json) || json.size() > config::document_bytes_most) return packed;
  ByteWriter(packed).varint(json.size());
  const std::size_t head = packed.size();
  // The frame need not be complete if it becomes longer than that.
  const std::size_t bytes_max = json.size() - json.size() / 8;
  std::size_t size = 0;
  packed.resize_and_overwrite(bytes_max, [&](char* out, std::size_t room) -> std::size_t {
    size = ZSTD_compress2(compressor(), out + head, room - head, json.data(), json.size());
    return ZSTD_isError(size) ? 0 : head + size;
  });
  packed.shrink_to_fit();
  return packed;
}

}  // namespace octavo::storage

#include "query/index/global/sorted_runs.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/byte_codec.h"

namespace octavo::query {

namespace {

constexpr std::size_t file_buffer_bytes = 256 * 1024;

Error file_error(const std::filesystem::path& file, int code) {
  const ErrorCode kind = code == ENOSPC || code == EDQUOT ? ErrorCode::disk_full : ErrorCode::io_failure;
  return Error{kind, fmt::format("sorting an index in {}: {}", file.string(), std::strerror(code)), {}};
}

struct FileCloser {
  void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

}  // namespace

class SortedRuns::Reader {
 public:
  explicit Reader(std::filesystem::path path) : path_(std::move(path)), file_(std::fopen(path_.c_str(), "rbe")) {
    if (!file_) {
      error_ = file_error(path_, errno);
      return;
    }
    buffer_.resize(file_buffer_bytes);
    static_cast<void>(std::setvbuf(file_.get(), buffer_.data(), _IOFBF, buffer_.size()));
  }

  /// False at the end or on an error.
  bool advance() {
    if (error_) return false;
    std::uint64_t key_size = 0;
    std::uint64_t value_size = 0;
    if (!read_varint(key_size) || !read_varint(value_size)) return false;
    row_.resize(key_size + value_size);
    if (std::fread(row_.data(), 1, row_.size(), file_.get()) != row_.size()) {
      error_ = file_error(path_, std::ferror(file_.get()) ? errno : EIO);
      return false;
    }
    key_size_ = key_size;
    return true;
  }

  std::string_view key() const { return {row_.data(), key_size_}; }
  std::string_view value() const { return std::string_view(row_).substr(key_size_); }
  const std::optional<Error>& error() const { return error_; }

 private:
  bool read_varint(std::uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const int byte = std::fgetc(file_.get());
      if (byte == EOF) {
        if (std::ferror(file_.get())) error_ = file_error(path_, errno);
        return false;
      }
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    error_ = file_error(path_, EIO);
    return false;
  }

  std::filesystem::path path_;
  std::vector<char> buffer_;  // must outlive the file that uses it
  File file_;
  std::string row_;
  std::size_t key_size_ = 0;
  std::optional<Error> error_;
};

SortedRuns::SortedRuns(std::filesystem::path folder, std::size_t buffer_bytes_max)
    : folder_(std::move(folder)), buffer_bytes_max_(buffer_bytes_max) {}

SortedRuns::~SortedRuns() {
  readers_.clear();
  std::error_code ignored;
  for (const auto& file : files_) std::filesystem::remove(file, ignored);
}

void SortedRuns::add(std::string_view key, std::string_view value) {
  OCTAVO_ASSERT(readers_.empty() && buffer_position_ == 0);  // before finish()
  rows_.push_back({bytes_.size(), static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(value.size())});
  bytes_ += key;
  bytes_ += value;
  ++row_count_;
}

void SortedRuns::sort_buffer() {
  std::ranges::sort(rows_, {}, [this](const Row& row) { return key_of(row); });
}

Expected<void> SortedRuns::spill() {
  if (rows_.empty()) return {};
  sort_buffer();
  const auto path = folder_ / fmt::format("run-{}", files_.size());
  files_.push_back(path);
  const File file(std::fopen(path.c_str(), "wbe"));
  if (!file) return std::unexpected(file_error(path, errno));
  std::string block;
  const auto write_block = [&]() -> bool {
    const bool written = std::fwrite(block.data(), 1, block.size(), file.get()) == block.size();
    block.clear();
    return written;
  };
  for (const Row& row : rows_) {
    ByteWriter writer(block);
    writer.varint(row.key_size);
    writer.varint(row.value_size);
    block.append(bytes_, row.offset, row.key_size + row.value_size);
    if (block.size() >= file_buffer_bytes && !write_block()) return std::unexpected(file_error(path, errno));
  }
  if (!write_block() || std::fflush(file.get()) != 0) return std::unexpected(file_error(path, errno));
  rows_.clear();
  bytes_.clear();
  return {};
}

Expected<void> SortedRuns::finish() {
  OCTAVO_ASSERT(readers_.empty());
  if (files_.empty()) {
    sort_buffer();
    return {};
  }
  OCTAVO_TRY_VOID(spill());
  std::string().swap(bytes_);
  std::vector<Row>().swap(rows_);
  for (const auto& file : files_) {
    auto reader = std::make_unique<Reader>(file);
    if (reader->advance()) {
      readers_.push_back(std::move(reader));
    } else if (reader->error()) {
      return std::unexpected(*reader->error());
    }
  }
  std::ranges::make_heap(readers_, std::greater<>{}, [](const auto& reader) { return reader->key(); });
  return {};
}

std::optional<storage::KeyValue> SortedRuns::next() {
  if (files_.empty()) {
    if (buffer_position_ == rows_.size()) return std::nullopt;
    const Row& row = rows_[buffer_position_++];
    return storage::KeyValue{key_of(row), {bytes_.data() + row.offset + row.key_size, row.value_size}};
  }
  const auto key = [](const auto& reader) { return reader->key(); };
  if (taken_) {
    // The reader of the last returned row is at the end of the heap.
    OCTAVO_ASSERT(!readers_.empty() && readers_.back().get() == taken_);
    if (taken_->advance()) {
      std::ranges::push_heap(readers_, std::greater<>{}, key);
    } else if (taken_->error()) {
      error_ = taken_->error();
      return std::nullopt;
    } else {
      readers_.pop_back();
    }
    taken_ = nullptr;
  }
  if (readers_.empty()) return std::nullopt;
  std::ranges::pop_heap(readers_, std::greater<>{}, key);
  taken_ = readers_.back().get();
  return storage::KeyValue{taken_->key(), taken_->value()};
}

}  // namespace octavo::query

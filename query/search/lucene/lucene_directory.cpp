#include "query/search/lucene/lucene_directory.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <lucene++/RAMDirectory.h>
#include <lucene++/SingleInstanceLockFactory.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/folder.h"
#include "query/search/lucene/lucene_text.h"

namespace octavo::query::search {

namespace {

constexpr std::wstring_view list_of_segments = L"segments_";

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// A mapped file; exists as long as any input reads it, even after the file is deleted.
class Mapping {
 public:
  Mapping(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  ~Mapping() {
    if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  const std::uint8_t* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

class MappedInput : public Lucene::IndexInput {
 public:
  explicit MappedInput(std::shared_ptr<const Mapping> mapping = nullptr)
      : mapping_(std::move(mapping)),
        data_(mapping_ ? mapping_->data() : nullptr),
        size_(mapping_ ? mapping_->size() : 0) {}

  uint8_t readByte() override {
    if (position_ >= size_) past_end();
    return data_[position_++];
  }
  void readBytes(uint8_t* b, int32_t offset, int32_t length) override {
    if (length < 0 || static_cast<std::size_t>(length) > size_ - std::min(position_, size_)) past_end();
    if (length == 0) return;
    std::memcpy(b + offset, data_ + position_, static_cast<std::size_t>(length));
    position_ += static_cast<std::size_t>(length);
  }
  void readBytes(uint8_t* b, int32_t offset, int32_t length, bool /*useBuffer*/) override {
    MappedInput::readBytes(b, offset, length);
  }
  int32_t readVInt() override {
    std::uint32_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      const std::uint8_t byte = MappedInput::readByte();
      value |= static_cast<std::uint32_t>(byte & 0x7F) << std::min(shift, 31);
      if ((byte & 0x80) == 0) break;
    }
    return static_cast<int32_t>(value);
  }
  void close() override {}
  int64_t getFilePointer() override { return static_cast<int64_t>(position_); }
  void seek(int64_t pos) override { position_ = pos < 0 ? size_ : static_cast<std::size_t>(pos); }
  int64_t length() override { return static_cast<int64_t>(size_); }

  Lucene::LuceneObjectPtr clone(const Lucene::LuceneObjectPtr& other = Lucene::LuceneObjectPtr()) override {
    const Lucene::LuceneObjectPtr copy =
        Lucene::IndexInput::clone(other ? other : Lucene::LuceneObjectPtr(Lucene::newLucene<MappedInput>(mapping_)));
    const auto input = boost::dynamic_pointer_cast<MappedInput>(copy);
    input->mapping_ = mapping_;
    input->data_ = data_;
    input->size_ = size_;
    input->position_ = position_;
    return copy;
  }

 private:
  [[noreturn]] static void past_end() { throw Lucene::IOException(L"read past the end of a file"); }

  std::shared_ptr<const Mapping> mapping_;
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t position_ = 0;
};

class FileOutput : public Lucene::IndexOutput {
 public:
  FileOutput(int fd, const LuceneDirectory::LastError& last_error) : fd_(fd), last_error_(last_error) {
    buffer_.reserve(buffer_bytes);
  }
  // A file that was not closed is useless: its writer gave up after an error.
  ~FileOutput() override {
    if (fd_ >= 0) ::close(fd_);
  }

  void writeByte(uint8_t b) override {
    if (buffer_.size() == buffer_bytes) flush();
    buffer_.push_back(b);
  }
  void writeBytes(const uint8_t* b, int32_t offset, int32_t length) override {
    if (length <= 0) return;
    const auto size = static_cast<std::size_t>(length);
    if (buffer_.size() + size > buffer_bytes) flush();
    if (size >= buffer_bytes) return write_out(b + offset, size);
    buffer_.insert(buffer_.end(), b + offset, b + offset + length);
  }
  void flush() override {
    if (buffer_.empty()) return;
    write_out(buffer_.data(), buffer_.size());
    buffer_.clear();
  }
  void close() override {
    if (fd_ < 0) return;
    flush();
    // The error of a delayed write appears here at the latest.
    if (::close(std::exchange(fd_, -1)) != 0) fail_io(errno);
  }
  int64_t getFilePointer() override { return static_cast<int64_t>(offset_ + buffer_.size()); }
  void seek(int64_t pos) override {
    flush();
    offset_ = static_cast<std::size_t>(pos);
  }
  int64_t length() override {
    flush();
    struct stat status{};
    return ::fstat(fd_, &status) == 0 ? status.st_size : 0;
  }

 private:
  static constexpr std::size_t buffer_bytes = 32 * 1024;

  void write_out(const std::uint8_t* data, std::size_t size) {
    while (size > 0) {
      const ssize_t written = ::pwrite(fd_, data, size, static_cast<off_t>(offset_));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail_io(written < 0 ? errno : ENOSPC);
      data += written;
      size -= static_cast<std::size_t>(written);
      offset_ += static_cast<std::size_t>(written);
    }
  }
  [[noreturn]] void fail_io(int code) {
    last_error_->store(code);
    throw Lucene::IOException(L"cannot write: " + to_wide(std::strerror(code)));
  }

  int fd_;
  LuceneDirectory::LastError last_error_;
  std::vector<std::uint8_t> buffer_;
  std::size_t offset_ = 0;  ///< position in the file of the start of the buffer
};

}  // namespace

LuceneDirectory::LuceneDirectory(const std::filesystem::path& folder, bool durable, storage::FaultInjector* faults,
                                 LastError last_error)
    : folder_(folder), durable_(durable), faults_(faults), last_error_(std::move(last_error)) {
  setLockFactory(Lucene::newLucene<Lucene::SingleInstanceLockFactory>());
}

LuceneDirectory::~LuceneDirectory() = default;

std::filesystem::path LuceneDirectory::path(const Lucene::String& name) const {
  return folder_ / to_utf8(name);
}

int LuceneDirectory::fault(storage::StorageCall call) const {
  if (faults_ == nullptr) return 0;
  const int code = faults_->before(call, folder_);
  return code > 0 ? code : 0;  // negative codes are LMDB's and do not apply to files
}

void LuceneDirectory::fail_io(const std::string& what, int code) const {
  const std::wstring text = to_wide(what + ": " + std::strerror(code));
  // Not an error of the disk: Lucene looks for files that may be absent, and any other missing file means damage.
  if (code == ENOENT) throw Lucene::FileNotFoundException(text);
  last_error_->store(code);
  throw Lucene::IOException(text);
}

Lucene::HashSet<Lucene::String> LuceneDirectory::listAll() {
  std::error_code error;
  const auto files = storage::folder_entries(folder_, error);
  if (error == std::errc::no_such_file_or_directory) {
    throw Lucene::NoSuchDirectoryException(L"there is no folder " + to_wide(folder_.string()));
  }
  if (error) fail_io("cannot list " + folder_.string(), error.value());
  // The set must be made by the library itself (commit_data.h). Its FSDirectory would end the process if there is no
  // memory to list a folder.
  const auto names = Lucene::newLucene<Lucene::RAMDirectory>();
  for (const std::string& file : files) names->createOutput(to_wide(file));
  return names->listAll();
}

bool LuceneDirectory::fileExists(const Lucene::String& name) {
  std::error_code error;
  return std::filesystem::exists(path(name), error);
}

uint64_t LuceneDirectory::fileModified(const Lucene::String& name) {
  struct stat status{};
  return ::stat(path(name).c_str(), &status) == 0 ? static_cast<uint64_t>(status.st_mtime) : 0;
}

void LuceneDirectory::touchFile(const Lucene::String& name) {
  static_cast<void>(::utimensat(AT_FDCWD, path(name).c_str(), nullptr, 0));
}

void LuceneDirectory::retire() {
  const std::lock_guard lock(files_mutex_);
  retired_ = true;
}

void LuceneDirectory::deleteFile(const Lucene::String& name) {
  const std::lock_guard lock(files_mutex_);
  if (retired_) return;
  if (::unlink(path(name).c_str()) != 0 && errno != ENOENT) fail_io("cannot delete " + to_utf8(name), errno);
}

int64_t LuceneDirectory::fileLength(const Lucene::String& name) {
  struct stat status{};
  if (::stat(path(name).c_str(), &status) != 0) fail_io("cannot find " + to_utf8(name), errno);
  return status.st_size;
}

Lucene::IndexOutputPtr LuceneDirectory::createOutput(const Lucene::String& name) {
  if (const int code = fault(storage::StorageCall::put)) fail_io("cannot create " + to_utf8(name), code);
  // Otherwise the list might survive a power loss in which the names of its files are lost.
  if (name.starts_with(list_of_segments)) sync_folder(name);
  const auto file = path(name);
  const std::lock_guard lock(files_mutex_);
  if (retired_) throw Lucene::AlreadyClosedException(L"the files have another writer");
  ::unlink(file.c_str());  // readers of the old file keep it
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) fail_io("cannot create " + to_utf8(name), errno);
  Descriptor guard(fd);
  auto output = Lucene::newLucene<FileOutput>(fd, last_error_);
  guard.release();
  return output;
}

Lucene::IndexInputPtr LuceneDirectory::openInput(const Lucene::String& name) {
  const Descriptor fd(::open(path(name).c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) fail_io("cannot open " + to_utf8(name), errno);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) fail_io("cannot open " + to_utf8(name), errno);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return Lucene::newLucene<MappedInput>(std::make_shared<const Mapping>(nullptr, 0));
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) fail_io("cannot map " + to_utf8(name), errno);
  return Lucene::newLucene<MappedInput>(std::make_shared<const Mapping>(static_cast<const std::uint8_t*>(data), size));
}

Lucene::IndexInputPtr LuceneDirectory::openInput(const Lucene::String& name, int32_t /*buffer_size*/) {
  return openInput(name);
}

void LuceneDirectory::sync(const Lucene::String& name) {
  {
    const std::lock_guard lock(files_mutex_);
    if (retired_) throw Lucene::AlreadyClosedException(L"the files have another writer");
  }
  if (const int code = fault(storage::StorageCall::sync)) fail_io("cannot sync " + to_utf8(name), code);
  if (!durable_) return;
  const Descriptor file(::open(path(name).c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0 || ::fdatasync(file.get()) != 0) fail_io("cannot sync " + to_utf8(name), errno);
  // The other files become part of the index through the list of segments.
  if (name.starts_with(list_of_segments)) sync_folder(name);
}

void LuceneDirectory::sync_folder(const Lucene::String& name) const {
  if (!durable_) return;
  std::error_code error;
  storage::sync_folder(folder_, error);
  if (error) fail_io("cannot sync the folder of " + to_utf8(name), error.value());
}

void LuceneDirectory::close() {
  isOpen = false;
}

}  // namespace octavo::query::search

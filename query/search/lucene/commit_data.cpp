#include "query/search/lucene/commit_data.h"

#include <cstdint>
#include <lucene++/IndexInput.h>
#include <lucene++/IndexOutput.h>

#include "query/search/lucene/lucene_text.h"

namespace octavo::query::search {

namespace {

class BytesInput : public Lucene::IndexInput {
 public:
  explicit BytesInput(const std::string& bytes) : bytes_(bytes) {}
  uint8_t readByte() override {
    if (position_ >= bytes_.size()) throw Lucene::IOException(L"read past the end");
    return static_cast<uint8_t>(bytes_[position_++]);
  }
  void readBytes(uint8_t* b, int32_t offset, int32_t length) override {
    for (int32_t i = 0; i < length; ++i) b[offset + i] = BytesInput::readByte();
  }
  void close() override {}
  int64_t getFilePointer() override { return static_cast<int64_t>(position_); }
  void seek(int64_t pos) override { position_ = static_cast<std::size_t>(pos); }
  int64_t length() override { return static_cast<int64_t>(bytes_.size()); }

 private:
  std::string bytes_;
  std::size_t position_ = 0;
};

class BytesOutput : public Lucene::IndexOutput {
 public:
  void writeByte(uint8_t b) override { bytes.push_back(static_cast<char>(b)); }
  void writeBytes(const uint8_t* b, int32_t offset, int32_t length) override {
    bytes.append(reinterpret_cast<const char*>(b) + offset, static_cast<std::size_t>(length));
  }
  void flush() override {}
  void close() override {}
  int64_t getFilePointer() override { return static_cast<int64_t>(bytes.size()); }
  void seek(int64_t) override {}
  int64_t length() override { return static_cast<int64_t>(bytes.size()); }

  std::string bytes;
};

}  // namespace

Lucene::MapStringString make_commit_data(const std::map<std::string, std::string>& data) {
  const auto output = Lucene::newLucene<BytesOutput>();
  output->writeInt(static_cast<int32_t>(data.size()));
  for (const auto& [name, value] : data) {
    output->writeString(to_wide(name));
    output->writeString(to_wide(value));
  }
  return Lucene::newLucene<BytesInput>(output->bytes)->readStringStringMap();
}

std::map<std::string, std::string> read_commit_data(const Lucene::MapStringString& data) {
  std::map<std::string, std::string> read;
  const auto output = Lucene::newLucene<BytesOutput>();
  output->writeStringStringMap(data);
  const auto input = Lucene::newLucene<BytesInput>(output->bytes);
  for (int32_t left = input->readInt(); left > 0; --left) {
    std::string name = to_utf8(input->readString());
    read[std::move(name)] = to_utf8(input->readString());
  }
  return read;
}

}  // namespace octavo::query::search

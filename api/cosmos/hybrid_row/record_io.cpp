#include "api/cosmos/hybrid_row/record_io.h"

#include <array>
#include <cstdint>

#include <fmt/format.h>
#include <zlib.h>

#include "api/cosmos/hybrid_row/row.h"

namespace octavo::api::cosmos::hybrid_row {

namespace {

// Its sparse columns describe the stream; readers skip them.
constexpr std::array segment_columns{Column{"length", ColumnType::int32, Storage::fixed}};
constexpr Schema segment_schema{2147473648, segment_columns};
constexpr std::array record_columns{Column{"length", ColumnType::int32, Storage::fixed, false},
                                    Column{"crc32", ColumnType::uint32, Storage::fixed, false}};
constexpr Schema record_schema{2147473649, record_columns};

std::uint32_t checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::unexpected<Error> invalid(std::size_t offset, std::string_view what) {
  return fail(ErrorCode::bad_request,
              fmt::format("The body is not a valid RecordIO stream: {} at byte {}.", what, offset));
}

/// A position in a stream.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool at_end() const { return offset_ == bytes_.size(); }
  std::size_t offset() const { return offset_; }
  Expected<std::uint32_t> schema() const { return schema_of(bytes_.substr(offset_)); }

  /// A row of a header, without sparse columns.
  Expected<std::vector<Value>> header(const Schema& schema) const {
    return read_row(bytes_.substr(offset_, smallest_row_bytes(schema)), schema);
  }

  /// The next bytes. Errors: bad_request if fewer follow.
  Expected<std::string_view> take(std::int64_t size) {
    if (size < 0 || static_cast<std::uint64_t>(size) > bytes_.size() - offset_) {
      return invalid(offset_, fmt::format("{} bytes are announced, but {} follow", size, bytes_.size() - offset_));
    }
    const auto taken = bytes_.substr(offset_, static_cast<std::size_t>(size));
    offset_ += taken.size();
    return taken;
  }

 private:
  std::string_view bytes_;
  std::size_t offset_ = 0;
};

Expected<void> skip_segment(Reader& reader) {
  OCTAVO_TRY(const auto header, reader.header(segment_schema));
  const auto* length = std::get_if<std::int32_t>(&header[0]);
  const auto smallest = static_cast<std::int32_t>(smallest_row_bytes(segment_schema));
  if (!length || *length < smallest) return invalid(reader.offset(), "a segment has no valid length");
  OCTAVO_TRY_VOID(reader.take(*length));
  return {};
}

Expected<std::string_view> take_record(Reader& reader) {
  OCTAVO_TRY(const auto header, reader.header(record_schema));
  const std::size_t offset = reader.offset();
  OCTAVO_TRY_VOID(reader.take(static_cast<std::int64_t>(smallest_row_bytes(record_schema))));
  OCTAVO_TRY(const auto record, reader.take(std::get<std::int32_t>(header[0])));
  if (record.empty()) return invalid(offset, "a record is empty");
  if (checksum(record) != std::get<std::uint32_t>(header[1])) {
    return invalid(offset, "the checksum of a record does not match");
  }
  return record;
}

}  // namespace

bool is_record_io(std::string_view bytes) {
  return bytes.starts_with('\x81');
}

Expected<std::vector<std::string_view>> read_records(std::string_view bytes, std::size_t records_max) {
  Reader reader(bytes);
  OCTAVO_TRY_VOID(skip_segment(reader));
  std::vector<std::string_view> records;
  while (!reader.at_end()) {
    OCTAVO_TRY(const auto schema, reader.schema());
    if (schema == segment_schema.id) {
      OCTAVO_TRY_VOID(skip_segment(reader));
      continue;
    }
    if (schema != record_schema.id) return invalid(reader.offset(), "neither a record nor a segment begins");
    if (records.size() == records_max) {
      return fail(ErrorCode::bad_request,
                  fmt::format("Batch request has more operations than what is supported: at most {}.", records_max));
    }
    OCTAVO_TRY(records.emplace_back(), take_record(reader));
  }
  return records;
}

void append_segment(std::string& out) {
  const auto length = static_cast<std::int32_t>(smallest_row_bytes(segment_schema));
  append_row(out, segment_schema, std::array<Value, 1>{length});
}

void append_record(std::string& out, std::string_view record) {
  append_row(out, record_schema, std::array<Value, 2>{static_cast<std::int32_t>(record.size()), checksum(record)});
  out += record;
}

}  // namespace octavo::api::cosmos::hybrid_row

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo::api::cosmos::hybrid_row {

/// RecordIO: a stream of records, each of which is a row. Bodies and replies of batches have this form.
///
/// Format (RecordIO):
///   stream  := segment+
///   segment := row of the schema 2147473648, then record*
///   record  := row of the schema 2147473649, then its content: length bytes, whose CRC-32 is crc32
///
///   schema 2147473648   length: i32, fixed: bytes of this row; its sparse columns are skipped by their bytes
///   schema 2147473649   length: i32 and crc32: u32, fixed and not nullable
///
/// Whether bytes begin like RecordIO, as no JSON does.
bool is_record_io(std::string_view bytes);

/// The records of a stream, in order; they refer to `bytes`. O(size).
/// Errors: bad_request for anything else, for a checksum that does not match, for more than `records_max` records.
Expected<std::vector<std::string_view>> read_records(std::string_view bytes, std::size_t records_max);

/// Begins a stream.
void append_segment(std::string& out);
void append_record(std::string& out, std::string_view record);

}  // namespace octavo::api::cosmos::hybrid_row

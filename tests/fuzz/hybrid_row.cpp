// Bodies of batches in HybridRow: any bytes, rows in a valid stream, and results that are written and read.
#include <algorithm>
#include <string>

#include "api/cosmos/hybrid_row/batch_rows.h"
#include "api/cosmos/hybrid_row/record_io.h"
#include "fuzz/target.h"

namespace {

using namespace octavo;
using namespace octavo::api::cosmos;
using octavo::fuzz::InputReader;
using octavo::fuzz::require;

constexpr std::size_t records_max = 100;

bool is_within(std::string_view part, std::string_view whole) {
  return part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

/// A row is refused as a bad request, or its values lie in it.
void read_row(std::string_view row) {
  if (const auto operation = hybrid_row::read_operation(row)) {
    for (const auto text : {operation->id, operation->resource_body, operation->if_match, operation->if_none_match,
                            operation->partition_key.value_or("")}) {
      require(is_within(text, row), "a value is part of its row");
    }
  } else {
    require(operation.error().code == ErrorCode::bad_request, "a bad row is a bad request");
  }
  if (const auto result = hybrid_row::read_result(row)) {
    std::string again;
    hybrid_row::append_result(again, *result);
    const auto reread = hybrid_row::read_result(again);
    require(reread && reread->status == result->status && reread->resource_body == result->resource_body,
            "a result survives being written and read");
  }
}

void read_stream(std::string_view bytes) {
  const auto records = hybrid_row::read_records(bytes, records_max);
  if (!records) {
    require(records.error().code == ErrorCode::bad_request, "a bad stream is a bad request");
    return;
  }
  require(hybrid_row::is_record_io(bytes) && records->size() <= records_max, "a stream has at most so many records");
  std::string again;
  hybrid_row::append_segment(again);
  for (const auto record : *records) {
    require(is_within(record, bytes) && !record.empty(), "a record is part of the stream");
    read_row(record);
    hybrid_row::append_record(again, record);
  }
  require(hybrid_row::read_records(again, records_max) == records, "records survive being written and read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputReader in(octavo::fuzz::text_of(data, size));
  const std::uint8_t shape = in.byte();
  if (shape % 4 == 0) {
    read_stream(in.rest());
    return 0;
  }
  if (shape % 4 == 1) {  // the schema and version are right
    std::string row("\x81\x70\x54\xe1\x7f", 5);
    if (shape & 4) row[1] = '\x71';
    row += in.rest();
    read_row(row);
    std::string stream;
    hybrid_row::append_segment(stream);
    hybrid_row::append_record(stream, row);
    read_stream(stream);
    return 0;
  }
  hybrid_row::ResultRow result;
  result.status = static_cast<std::int32_t>(in.number(4));
  result.substatus = static_cast<std::int32_t>(in.number(4));
  result.retry_after_ms = static_cast<std::uint32_t>(in.number(4));
  result.request_charge = static_cast<double>(in.number(2)) / 100;
  const std::string etag(in.number(1) % 40, 'e');
  result.etag = etag;
  result.resource_body = in.rest();
  std::string row;
  hybrid_row::append_result(row, result);
  const auto read = hybrid_row::read_result(row);
  require(read.has_value(), "a written result is read");
  require(read->status == result.status && read->substatus == result.substatus && read->etag == result.etag &&
              read->resource_body == result.resource_body && read->retry_after_ms == result.retry_after_ms &&
              read->request_charge == result.request_charge,
          "a result survives being written and read");
  return 0;
}

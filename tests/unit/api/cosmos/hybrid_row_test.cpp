// The bytes are those of the .NET client's writer; tests/integration/hybrid_row.mjs says how they follow from its
// source. Microsoft's reader of the format in Java (microsoft/HybridRow) reads the same values from them, and from the
// results.
#include <catch2/catch.hpp>

#include "api/cosmos/hybrid_row/batch_rows.h"
#include "api/cosmos/hybrid_row/record_io.h"
#include "api/cosmos/hybrid_row/row.h"

namespace octavo::api::cosmos::hybrid_row {
namespace {

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const unsigned char byte : bytes) {
    hex.push_back("0123456789abcdef"[byte >> 4]);
    hex.push_back("0123456789abcdef"[byte & 15]);
  }
  return hex;
}

constexpr std::string_view segment = "81f0d8ff7f010a000000";
// Create: two fixed columns and a body of two bytes.
constexpr std::string_view create = "817054e17f430000000002000000024142";
// Replace: key, id and body are variable columns; If-Match, a time to live and minimal replies are sparse.
constexpr std::string_view replace_begin = "817054e17f570500000002000000055b2278225d03696432027b7d";
constexpr std::string_view if_match = "14090c746865436f6e646974696f6e";
constexpr std::string_view time_to_live = "070b07000000";
constexpr std::string_view minimal = "030c";

std::string joined(std::initializer_list<std::string_view> hex) {
  std::string all;
  for (const auto part : hex) all += part;
  return bytes_of(all);
}

std::string refusal(std::string_view row) {
  const auto read = read_operation(row);
  return read ? "" : read.error().reason;
}

TEST_CASE("the records of a body of the .NET client are read") {
  const auto body = joined({segment, "81f1d8ff7f11000000ed153582", create});
  REQUIRE(is_record_io(body));
  const auto records = read_records(body, 100);
  REQUIRE(records);
  REQUIRE(records->size() == 1);
  CHECK(hex_of(records->front()) == create);
}

TEST_CASE("the columns of an operation are read where they are") {
  const auto row = joined({replace_begin, if_match, minimal});
  const auto operation = read_operation(row);
  REQUIRE(operation);
  CHECK(operation->operation_type == 5);
  CHECK(operation->partition_key == R"(["x"])");
  CHECK(operation->id == "id2");
  CHECK(operation->resource_body == "{}");
  CHECK(operation->if_match == "theCondition");
  CHECK(operation->if_none_match.empty());
  CHECK(operation->minimal);
}

TEST_CASE("columns that an operation lacks are absent") {
  const auto row = bytes_of(create);
  const auto operation = read_operation(row);
  REQUIRE(operation);
  CHECK(operation->operation_type == 0);
  CHECK_FALSE(operation->partition_key);
  CHECK(operation->id.empty());
  CHECK(operation->resource_body == "AB");
  CHECK_FALSE(operation->minimal);
}

TEST_CASE("an option of an operation that is not supported is refused by its name") {
  CHECK(refusal(joined({replace_begin, time_to_live})).starts_with("'timeToLiveInSeconds' of an operation"));
  CHECK(refusal(bytes_of("817054e17f0b00000000020000000141")).starts_with("'effectivePartitionKey' of an operation"));
}

TEST_CASE("an operation on something else than an item is refused") {
  CHECK(refusal(bytes_of("817054e17f030000000001000000")).find("resourceType") != std::string::npos);
  CHECK(refusal(bytes_of("817054e17f010000000000000000")).find("resourceType") != std::string::npos);
}

TEST_CASE("sparse columns that the schema does not know are skipped, whatever their type") {
  // The names are "a" to "d": 13 columns count the empty path, so a name of one byte is 14.
  const auto row = joined({create, "010e61", "080e620102030405060708", "110e6300000000000000000000000000000000",
                           "0d0e64ff01", "140e650178", minimal});
  const auto operation = read_operation(row);
  REQUIRE(operation);
  CHECK(operation->minimal);
}

TEST_CASE("a sparse column is found by its name as by its number") {
  const auto row = joined({create, "1414", "69664d61746368", "0178"});  // ifMatch, seven bytes: 13 + 7
  const auto operation = read_operation(row);
  REQUIRE(operation);
  CHECK(operation->if_match == "x");
}

TEST_CASE("a row that ends early is refused at every byte") {
  const auto row = joined({replace_begin, if_match});
  const std::size_t without_sparse = replace_begin.size() / 2;
  for (std::size_t size = 0; size < row.size(); ++size) {
    INFO(size);
    CHECK(read_operation(std::string_view(row).substr(0, size)).has_value() == (size == without_sparse));
  }
}

TEST_CASE("a malformed row is refused with what is wrong") {
  CHECK(refusal(joined({replace_begin, if_match, if_match})).find("'ifMatch' comes twice") != std::string::npos);
  CHECK(refusal(joined({replace_begin, "0709", "01000000"})).find("'ifMatch' has the wrong type") != std::string::npos);
  CHECK(refusal(joined({replace_begin, "200e6146"})).find("nested") != std::string::npos);
  CHECK(refusal(joined({replace_begin, "040e61"})).find("unknown type 4") != std::string::npos);
  CHECK(refusal(joined({replace_begin, "140901ff"})).find("'ifMatch' is not UTF-8") != std::string::npos);
  CHECK(refusal(joined({replace_begin, "1409ffffffffffffffffff01"})).find("ends too early") != std::string::npos);
  CHECK(refusal(bytes_of("807054e17f030000000002000000")).find("version") != std::string::npos);
  CHECK(refusal(bytes_of("817154e17f030000000002000000")).find("schema") != std::string::npos);
}

TEST_CASE("a stream is refused whose records are damaged") {
  const auto refused = [](std::initializer_list<std::string_view> hex) {
    const auto body = joined(hex);
    const auto records = read_records(body, 100);
    return records ? std::string() : records.error().reason;
  };
  CHECK(refused({segment, "81f1d8ff7f11000000ed153583", create}).find("checksum") != std::string::npos);
  CHECK(refused({segment, "81f1d8ff7f12000000ed153582", create}).find("18 bytes are announced") != std::string::npos);
  CHECK(refused({segment, "81f1d8ff7fffffffffed153582", create}).find("-1 bytes are announced") != std::string::npos);
  CHECK(refused({segment, "81f1d8ff7f0000000000000000"}).find("empty") != std::string::npos);
  CHECK(refused({segment, create}).find("neither a record nor a segment") != std::string::npos);
  CHECK(refused({"81f0d8ff7f0109000000"}).find("no valid length") != std::string::npos);
  CHECK(refused({"81f0d8ff7f000a000000"}).find("no valid length") != std::string::npos);
  CHECK(refused({"81f0d8ff7f01ffffff7f"}).find("2147483647 bytes are announced") != std::string::npos);
  CHECK(refused({"81"}).find("too early") != std::string::npos);
}

TEST_CASE("a stream may have several segments, whose comments are skipped") {
  const auto record = std::string("81f1d8ff7f11000000ed153582") + std::string(create);
  const auto body = joined({"81f0d8ff7f010d000000140001", record, segment, record});
  const auto records = read_records(body, 100);
  REQUIRE(records);
  CHECK(records->size() == 2);
}

TEST_CASE("a stream has no more records than the reader allows") {
  std::string body;
  append_segment(body);
  for (int i = 0; i < 3; ++i) append_record(body, "x");
  CHECK(read_records(body, 3));
  REQUIRE_FALSE(read_records(body, 2));
  CHECK(read_records(body, 2).error().reason.find("more operations") != std::string::npos);
}

TEST_CASE("a result has the bytes that Microsoft's readers expect") {
  std::string row;
  append_result(row, {.status = 429,
                      .substatus = 3200,
                      .etag = "\"1-a\"",
                      .resource_body = "{}",
                      .request_charge = 2.5,
                      .retry_after_ms = 360});
  CHECK(hex_of(row) ==
        "817154e17f0fad010000800c000005"
        "22312d6122027b7d"
        "0b0568010000"
        "10060000000000000440");
  const auto read = read_result(row);
  REQUIRE(read);
  CHECK(read->status == 429);
  CHECK(read->substatus == 3200);
  CHECK(read->etag == "\"1-a\"");
  CHECK(read->resource_body == "{}");
  CHECK(read->request_charge == 2.5);
  CHECK(read->retry_after_ms == 360);
}

TEST_CASE("a result leaves out what it does not have") {
  std::string row;
  append_result(row, {.status = 204, .request_charge = 1});
  CHECK(hex_of(row) ==
        "817154e17f01cc00000000000000"
        "1006000000000000f03f");
}

TEST_CASE("a written stream begins with a segment and has the checksum of each record") {
  std::string stream;
  append_segment(stream);
  append_record(stream, bytes_of(create));
  CHECK(stream == joined({segment, "81f1d8ff7f11000000ed153582", create}));
}

}  // namespace
}  // namespace octavo::api::cosmos::hybrid_row

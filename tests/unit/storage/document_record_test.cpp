#include "storage/document/document_record.h"

#include <limits>
#include <string>

#include <catch2/catch.hpp>

using namespace octavo;
using namespace octavo::storage;

TEST_CASE("counters whose last sequence leaves no others are refused") {
  const auto reload = [](Sequence last_sequence) {
    PartitionCounters counters;
    counters.last_sequence = last_sequence;
    std::string record;
    encode_counters(record, counters);
    return decode_counters(record);
  };
  CHECK(reload(1000).value().last_sequence == 1000);
  const auto refused = reload(std::numeric_limits<Sequence>::max());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::corrupted);
}

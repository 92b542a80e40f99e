#include "storage/document/sequence_allocator.h"

#include <catch2/catch.hpp>

using octavo::storage::SequenceAllocator;

TEST_CASE("the watermark stays below every sequence in flight") {
  SequenceAllocator sequences(2, 10);
  CHECK(sequences.watermark() == 10);
  sequences.begin(0);
  CHECK(sequences.next(0) == 11);
  sequences.begin(1);
  CHECK(sequences.next(1) == 12);
  sequences.end(1, true);
  CHECK(sequences.watermark() == 10);
  sequences.end(0, true);
  CHECK(sequences.watermark() == 12);
}

TEST_CASE("numbers given up at the end are not promised to followers") {
  SequenceAllocator sequences(1, 10);
  sequences.begin(0);
  sequences.next(0);
  sequences.end(0, false);
  CHECK(sequences.watermark() == 10);
  sequences.begin(0);
  CHECK(sequences.next(0) == 12);
  sequences.end(0, true);
  CHECK(sequences.watermark() == 12);
}

TEST_CASE("what is committed is known while the watermark is held back") {
  SequenceAllocator sequences(2, 10);
  CHECK(sequences.committed() == 10);
  sequences.begin(0);
  sequences.next(0);
  sequences.begin(1);
  sequences.next(1);
  sequences.end(1, true);
  CHECK(sequences.watermark() == 10);
  CHECK(sequences.committed() == 12);
  sequences.end(0, false);
  CHECK(sequences.watermark() == 12);
  CHECK(sequences.committed() == 12);
}

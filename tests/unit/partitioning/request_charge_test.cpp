#include "partitioning/throughput/request_charge.h"

#include <catch2/catch.hpp>

using namespace octavo::partitioning;

TEST_CASE("a point read of one kibibyte is one request unit, and one of a hundred about ten") {
  CHECK(charge_of_read(0) == 1.0);
  CHECK(charge_of_read(1024) == 1.0);
  CHECK(charge_of_read(100 * 1024) == Approx(10).epsilon(0.02));
}

TEST_CASE("a read that finds nothing costs a point read") {
  CHECK(charge_of_miss() == charge_of_read(0));
}

TEST_CASE("a write of one kibibyte without indexes is some five request units, and one of a hundred about fifty") {
  CHECK(charge_of_write({.body_bytes = 1024}) == Approx(5.25));
  CHECK(charge_of_write({.body_bytes = 100 * 1024}) == Approx(50).epsilon(0.02));
}

TEST_CASE("each row of an index that a write puts or erases costs the same") {
  const auto none = charge_of_write({.body_bytes = 300});
  const auto two = charge_of_write({.body_bytes = 300, .index_rows = 2});
  const auto seven = charge_of_write({.body_bytes = 300, .index_rows = 7});
  CHECK((seven - none) / 7 == Approx((two - none) / 2));
  CHECK(two > none);
}

TEST_CASE("a change of one property costs less than a new document with seven") {
  const auto creation = charge_of_write({.body_bytes = 900, .index_rows = 7});
  const auto change = charge_of_write({.body_bytes = 900, .index_rows = 2});
  CHECK(change < creation);
}

TEST_CASE("a query costs at least two to three request units in each physical partition that it visits") {
  const auto one = charge_of_scan({});
  CHECK(one > 2.0);
  CHECK(one < 3.0);
  CHECK(charge_of_scan({.partitions = 36}) == Approx(36 * one));
}

TEST_CASE("a physical partition without relevant data costs what docs/request-units.md says") {
  CHECK(charge_of_scan({.predicates = 1}) == Approx(3.5));
  CHECK(charge_of_scan({.partitions = 36, .predicates = 1}) == Approx(36 * 3.5));
}

TEST_CASE("predicates cost in each partition, documents once") {
  const ScanWork wide{.partitions = 10, .predicates = 2, .keys = 5, .documents = 5};
  const ScanWork narrow{.partitions = 1, .predicates = 2, .keys = 5, .documents = 5};
  CHECK(charge_of_scan(wide) - charge_of_scan(narrow) == Approx(9 * charge_of_scan({.predicates = 2})));
}

TEST_CASE("loading a document costs more than looking at its key") {
  CHECK(charge_of_scan({.keys = 100}) < charge_of_scan({.keys = 100, .documents = 100}));
  CHECK(charge_of_scan({.keys = 100, .documents = 100}) <
        charge_of_scan({.keys = 100, .documents = 100, .document_bytes = 100'000}));
  CHECK(charge_of_scan({.keys = 1}) < charge_of_scan({.keys = 1, .result_bytes = 4096}));
}

// Published charges of one application, and the work that its requests are; docs/request-units.md derives it.
TEST_CASE("the charges of the blog are met within a quarter") {
  const auto about = [](double expected) { return Approx(expected).epsilon(0.25); };
  const auto user = charge_of_write({.body_bytes = 80, .index_rows = 2});
  const auto post = charge_of_write({.body_bytes = 1000, .index_rows = 7});
  const auto comment = charge_of_write({.body_bytes = 600, .index_rows = 6});
  const auto like = charge_of_write({.body_bytes = 230, .index_rows = 5});
  const auto counted = charge_of_write({.body_bytes = 1000, .index_rows = 2});
  CHECK(user == about(5.71));
  CHECK(post == about(8.76));
  CHECK(comment == about(8.57));
  CHECK(like == about(7.05));
  CHECK(charge_of_read(1000) + counted + comment == about(15.27));
  CHECK(charge_of_read(1000) + counted + like == about(14.67));

  const auto list = [](std::uint64_t items, std::uint64_t item_bytes) {
    return charge_of_scan({.predicates = 2,
                           .keys = items,
                           .documents = items,
                           .document_bytes = items * item_bytes,
                           .result_bytes = items * item_bytes});
  };
  CHECK(list(20, 600) == about(7.72));
  CHECK(list(50, 230) == about(8.92));
  CHECK(list(24, 500) == about(6.46));
  CHECK(charge_of_scan(
            {.predicates = 1, .keys = 100, .documents = 100, .document_bytes = 50'000, .result_bytes = 50'000}) ==
        about(16.97));
}

TEST_CASE("a function costs the time it ran") {
  CHECK(charge_of_function(std::chrono::milliseconds(3)) ==
        Approx(3 * charge_of_function(std::chrono::milliseconds(1))));
  CHECK(charge_of_function(std::chrono::nanoseconds(0)) == 0.0);
}

TEST_CASE("charges are shown with two decimals") {
  CHECK(format_charge(1.0) == "1.00");
  CHECK(format_charge(5.294) == "5.29");
  CHECK(format_charge(2063.546) == "2063.55");
  CHECK(format_charge(-1) == "0.00");
  CHECK(rounded_charge(5.294) == 5.29);
  CHECK(rounded_charge(2063.546) == 2063.55);
}

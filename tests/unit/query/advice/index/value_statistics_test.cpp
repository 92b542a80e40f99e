#include "query/advice/index/value_statistics.h"

#include <string>

#include <catch2/catch.hpp>

#include "query/json/parsed_document.h"

using namespace octavo::query;
using octavo::query::advice::ValueStatistics;

namespace {

std::vector<FieldPath> named(std::initializer_list<const char*> names) {
  std::vector<FieldPath> paths;
  for (const char* name : names) paths.push_back(*FieldPath::parse(name));
  return paths;
}

}  // namespace

TEST_CASE("different values are counted for one property, for several together, and in each partition") {
  ValueStatistics statistics;
  statistics.expect(named({"a"}), false);
  statistics.expect(named({"a", "b.c"}), false);
  statistics.expect(named({"a"}), true);
  DocumentParser parser(LargeIntegers::rounded);
  for (int n = 0; n < 1'000; ++n) {
    const std::string body = R"({"a":)" + std::to_string(n % 10) + (n % 2 == 0 ? ".0" : "") + R"(,"b":{"c":"v)" +
                             std::to_string(n % 7) + R"("}})";
    statistics.add(*parser.parse(body), "p" + std::to_string(n % 3));
  }
  statistics.add(*parser.parse(R"({"b":{"c":"v1"}})"), "p0");
  CHECK(statistics.documents() == 1'001);
  const auto one = statistics.count(named({"a"}), false);
  CHECK(one->documents == 1'000);
  CHECK(one->values == 10);
  CHECK(one->rows() == 100);
  const auto both = statistics.count(named({"b.c", "a"}), false);
  CHECK(both->values == Approx(70).epsilon(0.05));
  CHECK(statistics.count(named({"a"}), true)->values == Approx(30).epsilon(0.05));
  CHECK_FALSE(statistics.count(named({"b.c"}), false));
}

TEST_CASE("at most so many sets of properties are counted") {
  ValueStatistics statistics;
  for (int n = 0; n < 1'000; ++n) statistics.expect(named({("f" + std::to_string(n % 100)).c_str()}), n % 2 == 0);
  DocumentParser parser(LargeIntegers::rounded);
  statistics.add(*parser.parse(R"({"f0":1,"f99":1})"), "p");
  CHECK(statistics.count(named({"f0"}), true)->documents == 1);
  CHECK_FALSE(statistics.count(named({"f99"}), false));
}

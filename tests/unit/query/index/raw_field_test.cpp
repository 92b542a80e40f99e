#include "query/index/raw_field.h"

#include <random>

#include <catch2/catch.hpp>

using namespace octavo::query;

namespace {
std::string_view at(std::string_view json, std::string_view path) {
  return find_raw_field(json, *FieldPath::parse(path));
}
}  // namespace

TEST_CASE("a raw field is cut out as it is written") {
  const std::string json = R"({"a":1.50,"b":{"c":[1,{"d":"x\"}]"},null]},"e\u0066":true,"":{"z":[]}})";
  CHECK(at(json, "a") == "1.50");
  CHECK(at(json, "b.c.1.d") == R"("x\"}]")");
  CHECK(at(json, "b.c.2") == "null");
  CHECK(at(json, "b.c") == R"([1,{"d":"x\"}]"},null])");
  CHECK(at(json, "ef") == "true");
  CHECK(at(json, "b.c.3").empty());
  CHECK(at(json, "b.x").empty());
  CHECK(at(json, "a.x").empty());
  CHECK(at("{}", "a").empty());
  CHECK(at("[]", "0").empty());
}

TEST_CASE("damaged text is read without going beyond its end") {
  const std::string json = R"({"a":[1,{"b":"x\\\"y"}],"c":{"d":[[[]]]}})";
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = json.substr(0, random() % (json.size() + 1));
    if (!damaged.empty()) damaged[random() % damaged.size()] = static_cast<char>(random());
    for (const auto path : {"a.1.b", "c.d.0.0", "c", "zzz"}) {
      const auto found = at(damaged, path);
      if (!found.empty())
        CHECK((found.data() >= damaged.data() && found.data() + found.size() <= damaged.data() + damaged.size()));
    }
  }
}

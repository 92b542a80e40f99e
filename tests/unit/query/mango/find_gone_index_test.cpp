// Pages of a _find continue when an index that they were read by is deleted.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "find_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

using Ids = std::vector<std::string>;

/// Documents `1000`, `1001`, … with the fields `a` (0 to 4), `b` (0 to 6) and `n` (all different); an index of each.
class IndexedNumbers : public FindFixture {
 public:
  explicit IndexedNumbers(int count = 200) {
    for (int i = 0; i < count; ++i) {
      const std::string body = R"({"a":)" + std::to_string(i % 5) + R"(,"b":)" + std::to_string(i % 7) + R"(,"n":)" +
                               std::to_string(i * 31 % count) + "}";
      EngineFixture::put(*database, std::to_string(1000 + i), body);
    }
    for (const std::string name : {"a", "b", "n"}) make_index(name, R"({"fields":[")" + name + R"("]})");
    wait_for_indexes();
  }

  void make_index(const std::string& name, const std::string& index) {
    create_index(R"({"index":)" + index + R"(,"ddoc":")" + name + R"(","name":"i"})");
  }

  void delete_index(const std::string& name) {
    const std::string id = "_design/" + name;
    const auto snapshot = database->snapshot_for_document(id);
    REQUIRE(snapshot);
    const auto found = snapshot->find(id);
    REQUIRE((found && *found && !(*found)->deleted));
    EngineFixture::put(*database, id, "{}", (*found)->revision, true);
  }

  /// Names of the design documents of the indexes that the first page of a query may read.
  Ids indexes_of(const json::object& request) {
    Ids names;
    const auto explained = explain(json::serialize(request));
    for (const auto& plan : explained->plans) {
      for (const auto& branch : plan.branches) {
        if (branch.index) names.push_back(branch.index->definition->design_document.substr(8));
      }
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }

  /// The ids of all pages; `between` is called with the number of pages before each further one.
  template <class Between>
  Ids pages(json::object request, std::size_t size, Between between) {
    Ids ids;
    request["limit"] = size;
    for (int read_pages = 1; read_pages < 1'000; ++read_pages) {
      const auto reply = find(json::serialize(request));
      const Ids found = ids_of(reply);
      ids.insert(ids.end(), found.begin(), found.end());
      if (found.size() < size) break;
      request["bookmark"] = reply.at("bookmark");
      between(read_pages);
    }
    return ids;
  }
};

json::object find_request_from(std::string_view text) {
  return json::parse(std::string(text)).as_object();
}

/// All results in one page.
Ids in_one_page(FindFixture& fixture, json::object request) {
  request["limit"] = 10'000;
  return ids_of(fixture.find(json::serialize(request)));
}

}  // namespace

TEST_CASE("pages of a _find continue when its index is deleted, and return each document once and in order") {
  IndexedNumbers numbers;
  const std::string text = GENERATE(as<std::string>{}, R"({"selector":{"a":2}})", R"({"selector":{"n":{"$gte":90}}})",
                                    R"({"selector":{"n":{"$gt":20}},"sort":["n"]})",
                                    R"({"selector":{"n":{"$gt":20}},"sort":[{"n":"desc"}]})",
                                    R"({"selector":{"n":{"$gt":20}},"sort":["n"],"fields":["_id","n"]})");
  const json::object request = find_request_from(text);
  const int kept = GENERATE(1, 3);
  CAPTURE(text, kept);
  Ids expected = in_one_page(numbers, request);
  CHECK(expected.size() >= 40);
  Ids found = numbers.pages(request, 7, [&](int read_pages) {
    if (read_pages != kept) return;
    const Ids names = numbers.indexes_of(request);
    CHECK_FALSE(names.empty());
    for (const std::string& name : names) numbers.delete_index(name);
    CHECK(numbers.indexes_of(request).empty());
  });
  if (!request.contains("sort")) {
    std::ranges::sort(expected);
    std::ranges::sort(found);
  }
  CHECK(found == expected);
}

TEST_CASE("pages of an $or continue when the index of a side is deleted, and return each document once") {
  IndexedNumbers numbers;
  const json::object request =
      find_request_from(GENERATE(as<std::string>{}, R"({"selector":{"$or":[{"a":1},{"b":3}]}})",
                                 R"({"selector":{"$or":[{"_id":{"$lt":"1020"}},{"a":1},{"n":{"$lt":12}}]}})"));
  const std::string name = GENERATE(as<std::string>{}, "a", "b", "n");
  const int kept = GENERATE(1, 4, 8);
  CAPTURE(json::serialize(request), name, kept);
  Ids expected = in_one_page(numbers, request);
  Ids found = numbers.pages(request, 5, [&](int read_pages) {
    if (read_pages == 1) CHECK(numbers.explain(json::serialize(request))->plans[0].branches.size() > 1);
    if (read_pages == kept) numbers.delete_index(name);
  });
  std::ranges::sort(expected);
  std::ranges::sort(found);
  CHECK(found == expected);
}

TEST_CASE("pages of a _find continue however many indexes come and go between them") {
  IndexedNumbers numbers(300);
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    json::object selector;
    if (random() % 2) selector["a"] = json::object{{"$gte", static_cast<int>(random() % 3)}};
    if (random() % 2) selector["b"] = static_cast<int>(random() % 7);
    if (selector.empty() || random() % 2) selector["n"] = json::object{{"$gte", static_cast<int>(random() % 100)}};
    json::object request{{"selector", selector}};
    const bool is_sorted = random() % 2;
    if (is_sorted) {
      // A sort that no condition names needs documents that have its field, which all do here.
      request["sort"] = json::array{json::object{{"n", random() % 2 ? "asc" : "desc"}}};
    }
    CAPTURE(round, json::serialize(request));
    Ids expected = in_one_page(numbers, request);
    Ids lost;
    Ids found = numbers.pages(request, 3 + random() % 20, [&](int) {
      if (random() % 3) return;
      if (!lost.empty() && random() % 2) {
        numbers.make_index(lost.back(), R"({"fields":[")" + lost.back() + R"("]})");
        numbers.wait_for_indexes();
        lost.pop_back();
      } else if (lost.empty()) {
        lost.push_back(std::vector<std::string>{"a", "b", "n"}[random() % 3]);
        numbers.delete_index(lost.back());
      }
    });
    for (const std::string& name : lost) numbers.make_index(name, R"({"fields":[")" + name + R"("]})");
    numbers.wait_for_indexes();
    if (!is_sorted) {
      std::ranges::sort(expected);
      std::ranges::sort(found);
    }
    CHECK(found == expected);
  }
}

TEST_CASE("pages by a partial index that use_index named are refused when it is deleted") {
  IndexedNumbers numbers;
  numbers.make_index("part", R"({"fields":["a"],"partial_filter_selector":{"b":{"$gt":2}}})");
  numbers.wait_for_indexes();
  json::object request = find_request_from(R"({"selector":{"a":2},"use_index":"part","limit":5})");
  const auto page = numbers.find(json::serialize(request));
  CHECK(ids_of(page).size() == 5);
  request["bookmark"] = page.at("bookmark");
  numbers.delete_index("part");
  CHECK(numbers.find(json::serialize(request)).at("error") == "invalid_bookmark");
}

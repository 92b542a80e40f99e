// Random lists against a ten-line model of what _all_docs means.
#include <algorithm>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "api/http/request.h"
#include "unit/api/couch/couch_api_fixture.h"

using octavo::tests::CouchApiFixture;
using octavo::tests::text;

namespace {

using Random = std::mt19937;

std::size_t pick(Random& random, std::size_t bound) {
  return random() % bound;
}

// Ids of few letters, so that ranges often meet an id exactly; one of them longer than a key of the store.
std::string random_id(Random& random) {
  std::string id = "p" + std::to_string(pick(random, 3)) + ":";
  for (auto size = 1 + pick(random, 3); size > 0; --size) id += static_cast<char>('a' + pick(random, 3));
  if (pick(random, 10) == 0) id += std::string(600, 'x') + static_cast<char>('a' + pick(random, 3));
  return id;
}

struct Ask {
  std::optional<std::string> partition;
  std::optional<std::string> start;
  std::optional<std::string> end;
  bool inclusive_end = true;
  bool descending = false;
  std::size_t skip = 0;
  std::optional<std::size_t> limit;

  std::string target() const {
    std::string path =
        "/db/" + (partition ? "_partition/" + *partition + "/" : "") + "_all_docs?skip=" + std::to_string(skip);
    if (start) path += "&startkey=" + octavo::api::percent_encode("\"" + *start + "\"");
    if (end) path += "&endkey=" + octavo::api::percent_encode("\"" + *end + "\"");
    if (!inclusive_end) path += "&inclusive_end=false";
    if (descending) path += "&descending=true";
    if (limit) path += "&limit=" + std::to_string(*limit);
    return path;
  }
};

Ask random_ask(Random& random) {
  Ask ask;
  if (pick(random, 2) == 0) ask.partition = "p" + std::to_string(pick(random, 4));
  if (pick(random, 2) == 0) ask.start = random_id(random);
  if (pick(random, 2) == 0) ask.end = random_id(random);
  ask.inclusive_end = pick(random, 3) != 0;
  ask.descending = pick(random, 2) == 0;
  ask.skip = pick(random, 3) == 0 ? pick(random, 5) : 0;
  if (pick(random, 3) == 0) ask.limit = pick(random, 8);
  return ask;
}

std::vector<std::string> model(const std::set<std::string>& live, const Ask& ask) {
  std::vector<std::string> found(live.begin(), live.end());
  if (ask.descending) std::ranges::reverse(found);
  std::erase_if(found, [&](const std::string& id) {
    const auto before = [&](const std::string& a, const std::string& b) { return ask.descending ? a > b : a < b; };
    if (ask.partition && !id.starts_with(*ask.partition + ":")) return true;
    if (ask.start && before(id, *ask.start)) return true;
    return ask.end && (before(*ask.end, id) || (id == *ask.end && !ask.inclusive_end));
  });
  found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(std::min(ask.skip, found.size())));
  if (ask.limit && *ask.limit < found.size()) found.resize(*ask.limit);
  return found;
}

}  // namespace

TEST_CASE("random lists are what the model says") {
  CouchApiFixture couch;
  REQUIRE(couch.put("/db?partitioned=true&q=3").status == 201);
  Random random(20240517);
  std::set<std::string> live;
  for (int i = 0; i < 120; ++i) {
    const auto id = random_id(random);
    const auto path = "/db/" + octavo::api::percent_encode(id);
    if (live.contains(id)) {
      if (pick(random, 2) == 0) continue;
      const auto rev = text(couch.get(path).json(), "_rev");
      REQUIRE(couch.del(path + "?rev=" + rev).status == 200);
      live.erase(id);
    } else {
      REQUIRE(couch.put(path, "{}").status == 201);
      live.insert(id);
    }
  }

  for (int i = 0; i < 400; ++i) {
    const auto ask = random_ask(random);
    const auto reply = couch.get(ask.target());
    INFO(ask.target());
    REQUIRE(reply.status == 200);
    std::vector<std::string> found;
    const auto json = reply.json();
    for (const auto& row : json.at("rows").as_array()) found.push_back(text(row, "id"));
    REQUIRE(found == model(live, ask));
  }
}

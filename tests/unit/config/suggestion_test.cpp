#include "config/suggestion.h"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

using namespace octavo::config;

namespace {

// The textbook recursion, exponential and obviously right.
std::size_t naive_distance(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.size() + b.size();
  const auto last_a = a.substr(0, a.size() - 1);
  const auto last_b = b.substr(0, b.size() - 1);
  auto best = std::min({naive_distance(last_a, b) + 1, naive_distance(a, last_b) + 1,
                        naive_distance(last_a, last_b) + (a.back() == b.back() ? 0 : 1)});
  if (a.size() > 1 && b.size() > 1 && a.back() == b[b.size() - 2] && a[a.size() - 2] == b.back()) {
    best = std::min(best, naive_distance(a.substr(0, a.size() - 2), b.substr(0, b.size() - 2)) + 1);
  }
  return best;
}

}  // namespace

TEST_CASE("edit distance counts inserted, deleted, replaced and swapped letters") {
  CHECK(edit_distance("port", "port") == 0);
  CHECK(edit_distance("prot", "port") == 1);
  CHECK(edit_distance("pot", "port") == 1);
  CHECK(edit_distance("ports", "port") == 1);
  CHECK(edit_distance("pork", "port") == 1);
  CHECK(edit_distance("", "port") == 4);
}

TEST_CASE("edit distance agrees with the textbook on random words") {
  std::mt19937 random(7);
  const auto word = [&] {
    std::string result(random() % 6, ' ');
    for (char& c : result) c = static_cast<char>('a' + random() % 3);
    return result;
  };
  for (int i = 0; i < 2'000; ++i) {
    const auto a = word();
    const auto b = word();
    INFO(a << " / " << b);
    REQUIRE(edit_distance(a, b) == naive_distance(a, b));
  }
}

TEST_CASE("the nearest candidate is suggested") {
  const std::vector<std::string> candidates{"server.bind", "server.port", "storage.durability", "tls.key"};
  CHECK(closest("server.prot", candidates) == "server.port");
  CHECK(closest("sever.bind", candidates) == "server.bind");
}

TEST_CASE("a word that is part of a candidate suggests it") {
  const std::vector<std::string> candidates{"--port", "--storage-durability"};
  CHECK(closest("durability", candidates) == "--storage-durability");
}

TEST_CASE("nothing is suggested when nothing is near") {
  const std::vector<std::string> candidates{"--port", "--bind"};
  CHECK_FALSE(closest("--frobnicate", candidates));
  CHECK_FALSE(closest("", candidates));
  CHECK_FALSE(closest(std::string(100'000, 'x'), candidates));
  CHECK(did_you_mean("--frobnicate", candidates).empty());
}

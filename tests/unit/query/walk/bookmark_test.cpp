#include "query/walk/bookmark.h"

#include <random>

#include <catch2/catch.hpp>

#include "base/token.h"

using octavo::query::Bookmark;

TEST_CASE("a bookmark comes back as it was") {
  std::mt19937 random(1);
  for (const auto kind :
       {Bookmark::Kind::primary, Bookmark::Kind::index, Bookmark::Kind::combined, Bookmark::Kind::sorted}) {
    Bookmark bookmark{kind, random() % 1000, "0123456789abcdef", {}, {}, {}};
    for (std::size_t i = 0; i < random() % 600; ++i) bookmark.key += static_cast<char>(random());
    CHECK(Bookmark::decode(bookmark.encode()) == bookmark);
    bookmark.spent = random() % 100'000;
    for (std::size_t i = 0; i < random() % Bookmark::left_max; ++i) {
      bookmark.left.push_back({i % 2 ? "" : "fedcba9876543210", random() % 2 == 0, std::string(random() % 300, 'k')});
    }
    CHECK(Bookmark::decode(bookmark.encode()) == bookmark);
    bookmark.index = "+j+\1a";
    CHECK(Bookmark::decode(bookmark.encode()) == bookmark);
    bookmark.index.clear();
    bookmark.left.push_back({"fedcba9876543210", true, "k", "-j+\1b"});
    CHECK(Bookmark::decode(bookmark.encode()) == bookmark);
  }
}

TEST_CASE("a bookmark without descriptions of its indexes is encoded as before they were introduced") {
  Bookmark bookmark{Bookmark::Kind::index, 0, "identity", "key", {}, {}};
  CHECK(octavo::open_token(bookmark.encode())->front() == 1);
  bookmark.left.push_back({"another", false, "key"});
  CHECK(octavo::open_token(bookmark.encode())->front() == 2);
  bookmark.left.front().index = "+j+\1a";
  CHECK(octavo::open_token(bookmark.encode())->front() == 3);
}

TEST_CASE("a bookmark that names too many plans is refused") {
  Bookmark bookmark{Bookmark::Kind::index, 0, "identity", "some key", {}, {}};
  bookmark.left.resize(Bookmark::left_max);
  CHECK(Bookmark::decode(bookmark.encode()));
  bookmark.left.resize(Bookmark::left_max + 1);
  CHECK_FALSE(Bookmark::decode(bookmark.encode()));
}

TEST_CASE("a bookmark of a union that does not name its index, as they once were, is refused") {
  Bookmark bookmark{Bookmark::Kind::combined, 1, "identity", "some key", {}, {}};
  CHECK(Bookmark::decode(bookmark.encode()));
  bookmark.kind = static_cast<Bookmark::Kind>('u');
  CHECK_FALSE(Bookmark::decode(bookmark.encode()));
}

TEST_CASE("a damaged bookmark is refused") {
  const std::string text = Bookmark{Bookmark::Kind::index, 3, "identity", "some key", {}, {}}.encode();
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    // The last digit may hold bits that belong to no byte.
    if (i + 1 < text.size()) CHECK_FALSE(Bookmark::decode(changed));
    CHECK_FALSE(Bookmark::decode(text.substr(0, i)));
  }
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::string noise;
    for (std::size_t i = 0; i < random() % 40; ++i) noise += static_cast<char>(random());
    CHECK_FALSE(Bookmark::decode(noise));
  }
}

// The key after which a page of a sorted or grouped query begins.
#include "query/sql/run/internal/resume_key.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using octavo::query::sql::CollectedRow;
using octavo::query::sql::Continuation;
using octavo::query::sql::ResumeKey;

namespace {

/// The key of a page that ended with `whole`, of which it keeps the beginning if it is long; `before` rows up to it
/// begin likewise.
ResumeKey key_after(const std::string& whole, std::uint64_t before) {
  Continuation continuation;
  continuation.kind = Continuation::Kind::sorted;
  continuation.set_key(whole, Continuation::beginning_bytes);
  continuation.same_beginning = before;
  ResumeKey key;
  key.resume(continuation);
  return key;
}

std::string long_key(char last) {
  return std::string(Continuation::beginning_bytes, 'k') + last;
}

std::vector<CollectedRow> rows_with(const std::vector<std::string>& keys) {
  std::vector<CollectedRow> rows;
  for (const std::string& key : keys) rows.push_back({.key = key, .text = {}});
  return rows;
}

}  // namespace

TEST_CASE("without a key the page begins with the first row, whose key may be empty") {
  ResumeKey key;

  CHECK_FALSE(key.has_passed(""));
  CHECK(key.first_row_in(rows_with({"", "b"})) == 0);
}

TEST_CASE("a whole key has passed itself and all keys before it") {
  ResumeKey key = key_after("b", 0);

  CHECK(key.has_passed("b"));
  CHECK_FALSE(key.has_passed("ba"));
  CHECK(key.first_row_in(rows_with({"a", "b", "c"})) == 2);
}

TEST_CASE("a key has passed a beginning only if no key with it may follow") {
  const ResumeKey key = key_after("bc", 0);

  CHECK(key.has_passed_all("a"));
  CHECK_FALSE(key.has_passed_all("b"));
  CHECK_FALSE(key.has_passed_all("bc"));
}

TEST_CASE("a long key is found among rows that begin likewise") {
  ResumeKey key = key_after(long_key('b'), 2);
  REQUIRE_FALSE(key.is_whole());

  CHECK(key.first_row_in(rows_with({"a", long_key('a'), long_key('b'), long_key('c')})) == 3);
  CHECK(key.count(long_key('b').substr(0, Continuation::beginning_bytes)) == 2);
}

TEST_CASE("without the row of a long key, all rows that begin likewise follow") {
  ResumeKey key = key_after(long_key('b'), 2);

  CHECK(key.first_row_in(rows_with({"a", long_key('a'), long_key('c')})) == 1);
}

TEST_CASE("a long key is sought once, and only whole when it was found") {
  ResumeKey key = key_after(long_key('b'), 17);
  REQUIRE(key.is_far());
  REQUIRE(key.may_be_lost());
  key.seek();
  CHECK_FALSE(key.is_key(long_key('a')));
  REQUIRE(key.is_key(long_key('b')));

  key.set(long_key('b'));
  key.end_search();

  CHECK(key.is_whole());
  CHECK_FALSE(key.is_sought());
  CHECK_FALSE(key.may_be_lost());
}

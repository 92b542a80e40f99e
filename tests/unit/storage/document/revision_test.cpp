#include "storage/document/revision.h"

#include <catch2/catch.hpp>

using namespace octavo;
using namespace octavo::storage;

TEST_CASE("a revision is printed as it was parsed") {
  for (const std::string text :
       {"1-967a00dff5e02add41819138abb3284d", "12-abc", "3-ABCDEF", "2-967A00DFF5E02ADD41819138ABB3284D"}) {
    const auto revision = Revision::parse(text);
    REQUIRE(revision);
    CHECK(revision->to_string() == text);
  }
}

TEST_CASE("malformed revisions are refused in CouchDB's words") {
  for (const std::string text : {"", "1", "1-", "-abc", "x-abc", "0-abc", "1-a\"b", "1-a\nb",
                                 "99999999999999999999999-a", "1-0123456789012345678901234567890123"}) {
    const auto revision = Revision::parse(text);
    REQUIRE_FALSE(revision);
    CHECK(revision.error().code == ErrorCode::bad_request);
    CHECK(revision.error().reason == "Invalid rev format");
  }
}

TEST_CASE("a generation leaves room for more edits") {
  CHECK(Revision::parse("9223372036854775807-a"));
  CHECK_FALSE(Revision::parse("9223372036854775808-a"));
  CHECK_FALSE(Revision::parse("18446744073709551615-a"));
  CHECK_FALSE(Revision::parse("18446744073709551616-a"));
}

TEST_CASE("the same edit gives the same revision; another body, parent or deletion another") {
  const Revision first = next_revision(std::nullopt, false, R"({"a":1})");
  CHECK(first.generation == 1);
  CHECK(first == next_revision(std::nullopt, false, R"({"a":1})"));
  CHECK_FALSE(first == next_revision(std::nullopt, false, R"({"a":2})"));
  CHECK_FALSE(first == next_revision(std::nullopt, true, R"({"a":1})"));
  const Revision second = next_revision(first, false, R"({"a":1})");
  CHECK(second.generation == 2);
  CHECK_FALSE(second.hash == first.hash);
}

TEST_CASE("a salt changes first revisions only") {
  const Revision first = next_revision(std::nullopt, false, R"({"a":1})");
  const Revision salted = next_revision(std::nullopt, false, R"({"a":1})", 7);
  CHECK(salted.generation == 1);
  CHECK_FALSE(salted == first);
  CHECK_FALSE(salted == next_revision(std::nullopt, false, R"({"a":1})", 8));
  CHECK(first == next_revision(std::nullopt, false, R"({"a":1})", 0));
  CHECK(next_revision(first, false, R"({"a":1})", 7) == next_revision(first, false, R"({"a":1})"));
}

TEST_CASE("the revision of an edit never changes between versions of the product") {
  CHECK(next_revision(std::nullopt, false, R"({"a":1})").to_string() == "1-9b53c7c5b78b862da746533c98853f8f");
}

TEST_CASE("the second half of a new revision's hash follows from its first") {
  const RevisionHash hash = next_revision(std::nullopt, false, R"({"a":1})").hash;
  CHECK(hash.follows_from_half());
  CHECK(RevisionHash::from_half(hash.bytes().substr(0, RevisionHash::half_bytes)) == hash);
  CHECK_FALSE(Revision::parse("1-9b53c7c5b78b862da746533c98853f8e")->hash.follows_from_half());
  CHECK_FALSE(Revision::parse("1-abc")->hash.follows_from_half());
}

#include <chrono>

#include <catch2/catch.hpp>

#include "storage/partition/partition_check.h"
#include "storage/partition/unique_keys.h"
#include "support/partition_fixture.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::PartitionFixture;

namespace {

/// Documents whose body begins so expired long ago.
class MarkedExpired final : public TimeToLive {
 public:
  std::optional<std::int64_t> expires_s(const DocumentView& document) const override {
    if (document.body.starts_with("{\"expired\"")) return 1;
    return std::nullopt;
  }
  std::int64_t identity() const override { return 1; }
};

/// `"v":…}` is unique.
class UniqueValues final : public UniqueKeys {
 public:
  std::vector<std::string> digests(std::string_view body) const override {
    const std::size_t at = body.find("\"v\":");
    if (at == std::string_view::npos) return {};
    std::string digest(body.substr(at));
    digest.resize(16, ' ');
    return {digest};
  }
};

}  // namespace

TEST_CASE("an expired document is deleted to every reader") {
  PartitionFixture fixture;
  REQUIRE(fixture.put("p:a", R"({"expired":1})"));
  REQUIRE(fixture.put("p:b", R"({"lives":1})"));
  CHECK_FALSE(fixture.snapshot().find("p:a").value()->deleted);
  fixture.partition().set_time_to_live(std::make_shared<MarkedExpired>());
  const auto snapshot = fixture.snapshot();
  CHECK(snapshot.find("p:a").value()->deleted);
  CHECK(snapshot.find("p:a").value()->body == "{}");
  CHECK_FALSE(snapshot.find("p:b").value()->deleted);
  auto cursor = snapshot.documents();
  CHECK(cursor.seek("p:a")->deleted);
  CHECK_FALSE(cursor.next()->deleted);
  CHECK(cursor.previous()->deleted);
}

TEST_CASE("an expired document can be created again, and not be changed") {
  PartitionFixture fixture;
  REQUIRE(fixture.put("p:a", R"({"expired":1})"));
  fixture.partition().set_time_to_live(std::make_shared<MarkedExpired>());
  auto replacement = PartitionFixture::make("p:a", "{}");
  replacement.base = WriteBase::live_winner;
  CHECK(fixture.write({replacement}).front().error().code == ErrorCode::not_found);
  const auto again = fixture.put("p:a", R"({"lives":1})").value();
  CHECK(again.created);
  CHECK(again.revision.generation == 2);
  CHECK(fixture.snapshot().statistics().value().document_count == 1);
  fixture.partition().set_time_to_live(nullptr);
  CHECK(check_partition(fixture.partition(), true).value().sound());
}

TEST_CASE("a document created again after it expired has its unique values again, even if others had them meanwhile") {
  PartitionFixture fixture;
  fixture.partition().set_unique_keys(std::make_shared<UniqueValues>());
  REQUIRE(fixture.put("p:a", R"({"expired":1,"v":7})"));
  fixture.partition().set_time_to_live(std::make_shared<MarkedExpired>());
  const auto other = fixture.put("p:b", R"({"lives":1,"v":7})").value();
  REQUIRE(fixture.put("p:b", "{}", other.revision, true));
  REQUIRE(fixture.put("p:a", R"({"lives":1,"v":7})"));
  const auto refused = fixture.put("p:c", R"({"lives":1,"v":7})");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::unique_key_violated);
  fixture.partition().set_time_to_live(nullptr);
  CHECK(check_partition(fixture.partition(), true).value().sound());
}

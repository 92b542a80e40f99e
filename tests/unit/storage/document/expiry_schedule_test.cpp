#include "storage/document/expiry_schedule.h"

#include <future>

#include <catch2/catch.hpp>

#include "storage/document/document_record.h"
#include "support/partition_fixture.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::PartitionFixture;

namespace {

constexpr std::int64_t far_future = 9'999'999'999;

/// `{"expires":…}` expires then, others never; or all of them so much later.
class StatedExpiration final : public TimeToLive {
 public:
  explicit StatedExpiration(std::int64_t later_s = 0) : later_s_(later_s) {}
  std::optional<std::int64_t> expires_s(const DocumentView& document) const override {
    constexpr std::string_view start = "{\"expires\":";
    if (!document.body.starts_with(start)) return std::nullopt;
    return std::stoll(std::string(document.body.substr(start.size()))) + later_s_;
  }
  std::int64_t identity() const override { return later_s_; }

 private:
  std::int64_t later_s_;
};

std::string expires_at(std::int64_t expiration_s) {
  return "{\"expires\":" + std::to_string(expiration_s) + "}";
}

bool make_part(PartitionFixture& fixture, std::size_t rows_max) {
  std::promise<Expected<bool>> done;
  fixture.partition().make_expiry_schedule(rows_max, [&](Expected<bool> more) { done.set_value(std::move(more)); });
  return done.get_future().get().value();
}

void make_whole(PartitionFixture& fixture) {
  while (make_part(fixture, 100)) {
  }
}

Snapshot::Expired expired_now(PartitionFixture& fixture, std::size_t rows_max = 100) {
  return fixture.snapshot().expired_documents(rows_max).value();
}

std::vector<std::string> ids_of(const Snapshot::Expired& found) {
  std::vector<std::string> ids;
  for (const auto& document : found.documents) ids.push_back(document.id);
  return ids;
}

bool is_sound(PartitionFixture& fixture, const TimeToLive& rule) {
  fixture.partition().set_time_to_live(nullptr);
  return fixture.is_sound(true, &rule);
}

using Ids = std::vector<std::string>;

}  // namespace

TEST_CASE("a partition whose documents expire from the first one on knows which have, in order of time") {
  PartitionFixture fixture;
  fixture.partition().set_time_to_live(std::make_shared<StatedExpiration>());
  REQUIRE(fixture.put("p:a", expires_at(3)));
  REQUIRE(fixture.put("p:b", expires_at(far_future)));
  REQUIRE(fixture.put("p:c", expires_at(1)));
  REQUIRE(fixture.put("p:d", "{}"));
  const auto now = expired_now(fixture);
  CHECK(now.whole);
  CHECK(ids_of(now) == Ids{"p:c", "p:a"});
  CHECK(now.documents.front().expiration_s == 1);
  CHECK(now.next_expiration_s == far_future);
  CHECK(ids_of(expired_now(fixture, 1)) == Ids{"p:c"});
  CHECK(is_sound(fixture, StatedExpiration()));
}

TEST_CASE("the expiration of a document that is changed or deleted is moved or removed") {
  PartitionFixture fixture;
  fixture.partition().set_time_to_live(std::make_shared<StatedExpiration>());
  const auto kept = fixture.put("p:kept", expires_at(far_future)).value();
  const auto gone = fixture.put("p:gone", expires_at(far_future)).value();
  const auto freed = fixture.put("p:freed", expires_at(far_future)).value();
  REQUIRE(fixture.put("p:kept", expires_at(5), kept.revision));
  REQUIRE(fixture.put("p:gone", "{}", gone.revision, true));
  REQUIRE(fixture.put("p:freed", "{}", freed.revision));
  const auto now = expired_now(fixture);
  CHECK(ids_of(now) == Ids{"p:kept"});
  CHECK_FALSE(now.next_expiration_s);
  REQUIRE(fixture.put("p:kept", "{}", now.documents.front().revision, true));
  CHECK(expired_now(fixture).documents.empty());
  CHECK(is_sound(fixture, StatedExpiration()));
}

TEST_CASE("the expirations of a request that was undone are not scheduled") {
  PartitionFixture fixture;
  fixture.partition().set_time_to_live(std::make_shared<StatedExpiration>());
  REQUIRE(fixture.put("p:there", "{}"));
  const auto results = fixture.write(
      {PartitionFixture::make("p:new", expires_at(1)), PartitionFixture::make("p:there", expires_at(1))}, true);
  CHECK_FALSE(results.front());
  CHECK(expired_now(fixture).documents.empty());
  CHECK(is_sound(fixture, StatedExpiration()));
}

TEST_CASE("for documents from before a time to live the schedule is made part by part, while they change") {
  PartitionFixture fixture;
  std::vector<WrittenDocument> written;
  for (int i = 0; i < 10; ++i) written.push_back(fixture.put("p:" + std::to_string(i), expires_at(100 - i)).value());
  fixture.partition().set_time_to_live(std::make_shared<StatedExpiration>());
  CHECK_FALSE(expired_now(fixture).whole);
  REQUIRE(make_part(fixture, 3));  // finds nothing of before
  REQUIRE(make_part(fixture, 3));
  CHECK_FALSE(expired_now(fixture).whole);
  // One that was looked at, and one that was not.
  auto early = PartitionFixture::make("p:1", expires_at(1));
  auto late = PartitionFixture::make("p:8", "{}");
  early.base = late.base = WriteBase::any_winner;
  REQUIRE(fixture.write({early}).front());
  REQUIRE(fixture.write({late}).front());
  make_whole(fixture);
  const auto now = expired_now(fixture);
  CHECK(now.whole);
  CHECK(ids_of(now) == Ids{"p:1", "p:9", "p:7", "p:6", "p:5", "p:4", "p:3", "p:2", "p:0"});
  CHECK(is_sound(fixture, StatedExpiration()));
}

TEST_CASE("a changed rule replaces the schedule") {
  PartitionFixture fixture;
  fixture.partition().set_time_to_live(std::make_shared<StatedExpiration>());
  REQUIRE(fixture.put("p:a", expires_at(1)));
  fixture.partition().set_time_to_live(std::make_shared<StatedExpiration>(far_future));
  CHECK_FALSE(expired_now(fixture).whole);
  REQUIRE(fixture.put("p:b", expires_at(2)));
  make_whole(fixture);
  const auto now = expired_now(fixture);
  CHECK(now.documents.empty());
  CHECK(now.next_expiration_s == far_future + 1);
  CHECK(is_sound(fixture, StatedExpiration(far_future)));
}

TEST_CASE("a schedule that missed writes of its partition is replaced") {
  PartitionFixture fixture;
  fixture.partition().set_time_to_live(std::make_shared<StatedExpiration>());
  const auto a = fixture.put("p:a", expires_at(1)).value();
  fixture.partition().set_time_to_live(nullptr);
  REQUIRE(fixture.put("p:a", "{}", a.revision));
  REQUIRE(fixture.put("p:b", expires_at(1)));
  fixture.partition().set_time_to_live(std::make_shared<StatedExpiration>());
  CHECK_FALSE(expired_now(fixture).whole);
  make_whole(fixture);
  CHECK(ids_of(expired_now(fixture)) == Ids{"p:b"});
  CHECK(is_sound(fixture, StatedExpiration()));
}

TEST_CASE("a schedule stays as it is while documents have the same time to live, over a restart too") {
  PartitionFixture fixture;
  fixture.partition().set_time_to_live(std::make_shared<StatedExpiration>());
  REQUIRE(fixture.put("p:a", expires_at(1)));
  fixture.partition().set_time_to_live(nullptr);
  const Sequence last = fixture.snapshot().last_sequence().value();
  fixture.open(last);
  fixture.partition().set_time_to_live(std::make_shared<StatedExpiration>());
  CHECK(expired_now(fixture).whole);
  CHECK(ids_of(expired_now(fixture)) == Ids{"p:a"});
}

TEST_CASE("the check names an expiration that is missing, and one too many") {
  PartitionFixture fixture;
  fixture.partition().set_time_to_live(std::make_shared<StatedExpiration>());
  REQUIRE(fixture.put("p:a", expires_at(1)));
  const auto change_rows = [&](std::string key, bool erase) {
    std::promise<Expected<void>> done;
    fixture.partition().run_index_task(
        [&](WriteTransaction& transaction, Tree) -> Expected<void> {
          const Tree meta = fixture.partition().store().tree(static_cast<std::size_t>(PartitionTree::meta));
          if (!erase) return transaction.put(meta, key, "p:x");
          OCTAVO_TRY_VOID(transaction.erase(meta, key));
          return {};
        },
        [&](Expected<void> result) { done.set_value(std::move(result)); });
    REQUIRE(done.get_future().get());
  };
  const auto row = [](std::int64_t expiration_s, Sequence sequence) {
    std::string key = "e";
    append_key_u64(key, static_cast<std::uint64_t>(expiration_s));
    append_key_u64(key, sequence);
    return key;
  };
  change_rows(row(7, 7), false);
  CHECK(ids_of(expired_now(fixture)) == Ids{"p:a"});
  CHECK_FALSE(is_sound(fixture, StatedExpiration()));
  change_rows(row(7, 7), true);
  CHECK(is_sound(fixture, StatedExpiration()));
  change_rows(row(1, 1), true);
  CHECK_FALSE(is_sound(fixture, StatedExpiration()));
}

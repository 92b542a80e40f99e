#include <future>
#include <memory>

#include <catch2/catch.hpp>

#include "storage/partition/partition_check.h"
#include "support/partition_fixture.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::PartitionFixture;

namespace {

std::shared_ptr<const DocumentOwners> owners_of(std::vector<DocumentOwners::Owner> owners) {
  auto all = std::make_shared<DocumentOwners>();
  all->owners = std::move(owners);
  return all;
}

/// A partition of a database in which the projections 1 and 2 write.
struct OwnersFixture : PartitionFixture {
  OwnersFixture() { partition().set_owners(owners_of({{1, "one of a", false}, {2, "two of b", false}})); }

  EditOutcome write_one(DocumentWrite one) {
    std::vector<DocumentWrite> writes;
    writes.push_back(std::move(one));
    return write(std::move(writes)).front();
  }
  EditOutcome write_row(std::uint32_t owner, std::string id, std::string body) {
    DocumentWrite row;
    row.id = std::move(id);
    row.body = std::move(body);
    row.base = WriteBase::any_winner;
    row.owner = owner;
    return write_one(std::move(row));
  }
  EditOutcome remove_row(std::uint32_t owner, std::string id) {
    DocumentWrite row;
    row.id = std::move(id);
    row.deleted = true;
    row.body = "{}";
    row.base = WriteBase::any_winner;
    row.owner = owner;
    return write_one(std::move(row));
  }
  std::vector<Revision> purge_one(const std::string& id, const Revision& revision) {
    std::promise<std::vector<std::vector<Revision>>> done;
    std::vector<PurgeRequest> requests{{id, std::string_view(id).substr(0, id.find(':')), {revision}}};
    partition().purge(std::move(requests), [&](auto purged) { done.set_value(std::move(purged).value()); });
    return done.get_future().get().front();
  }
  std::uint32_t owner_of(const std::string& id) { return snapshot().find_stored_record(id).value().value().owner; }
};

}  // namespace

TEST_CASE("a row of a projection is written once, however often it is put") {
  OwnersFixture fixture;
  const auto first = fixture.write_row(1, "p:a", R"({"n":1})").value();
  CHECK(first.created);
  const auto again = fixture.write_row(1, "p:a", R"({"n":1})").value();
  CHECK(again.revision == first.revision);
  CHECK(again.sequence == 0);
  const auto changed = fixture.write_row(1, "p:a", R"({"n":2})").value();
  CHECK(changed.revision.generation == 2);
  CHECK(fixture.owner_of("p:a") == 1);
  CHECK(check_partition(fixture.partition(), true).value().sound());
}

TEST_CASE("a row is deleted once, and then its id is free") {
  OwnersFixture fixture;
  REQUIRE(fixture.write_row(1, "p:a", "{}"));
  CHECK(fixture.remove_row(1, "p:a").value().sequence > 0);
  CHECK(fixture.remove_row(1, "p:a").value().sequence == 0);
  REQUIRE(fixture.put("p:a", R"({"by":"client"})"));
  CHECK(fixture.remove_row(1, "p:a").value().sequence == 0);
  CHECK(fixture.owner_of("p:a") == 0);
}

TEST_CASE("a projection does not touch the documents of clients, nor the rows of another one") {
  OwnersFixture fixture;
  REQUIRE(fixture.put("p:a", R"({"by":"client"})"));
  REQUIRE(fixture.write_row(2, "p:b", "{}"));
  CHECK(fixture.write_row(1, "p:a", "{}").error().code == ErrorCode::conflict);
  CHECK(fixture.write_row(1, "p:b", "{}").error().code == ErrorCode::conflict);
  CHECK(fixture.remove_row(1, "p:b").value().sequence == 0);
  CHECK(fixture.owner_of("p:b") == 2);
}

TEST_CASE("clients cannot change, delete or purge a row, nor replicate over it") {
  OwnersFixture fixture;
  const auto row = fixture.write_row(1, "p:a", R"({"n":1})").value();
  const auto refused = fixture.put("p:a", R"({"n":2})", row.revision);
  CHECK(refused.error().code == ErrorCode::forbidden);
  CHECK(refused.error().word == "derived_document");
  CHECK(refused.error().reason.find("one of a") != std::string::npos);
  CHECK(fixture.put("p:a", "{}", row.revision, true).error().code == ErrorCode::forbidden);
  DocumentWrite replicated;
  replicated.id = "p:a";
  replicated.body = "{}";
  replicated.replicated = true;
  replicated.history = {Revision::parse("9-abc").value()};
  CHECK(fixture.write_one(std::move(replicated)).error().code == ErrorCode::forbidden);
  CHECK(fixture.purge_one("p:a", row.revision).empty());
  CHECK(fixture.owner_of("p:a") == 1);
}

TEST_CASE("the rows of a projection that is gone are ordinary documents, and another one may take them over") {
  OwnersFixture fixture;
  const auto row = fixture.write_row(1, "p:a", R"({"n":1})").value();
  REQUIRE(fixture.write_row(1, "p:b", R"({"n":1})"));
  fixture.partition().set_owners(owners_of({{2, "two of b", false}}));
  REQUIRE(fixture.put("p:a", R"({"n":2})", row.revision));
  CHECK(fixture.owner_of("p:a") == 0);
  REQUIRE(fixture.write_row(2, "p:b", R"({"n":1})"));
  CHECK(fixture.owner_of("p:b") == 2);
}

TEST_CASE("a database that a projection has to itself takes only design documents of clients") {
  OwnersFixture fixture;
  fixture.partition().set_owners(owners_of({{1, "one of a", true}}));
  CHECK(fixture.put("p:a", "{}").error().word == "derived_document");
  CHECK(fixture.put("_design/d", "{}").has_value());
  CHECK(fixture.write_row(1, "p:a", "{}").has_value());
}

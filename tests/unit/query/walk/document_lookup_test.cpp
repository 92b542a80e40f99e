#include "query/walk/document_lookup.h"

#include <catch2/catch.hpp>

#include "../sql/sql_fixture.h"
#include "query/index/automatic_index.h"
#include "query/index/index_entry.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::EngineFixture;
using octavo::tests::indexed_container;
using octavo::tests::SqlFixture;

TEST_CASE("documents found by an index of several physical partitions are as their entries say") {
  SqlFixture fixture(indexed_container(4));
  std::vector<std::string> ids;
  std::vector<storage::Revision> revisions;
  for (int i = 0; i < 8; ++i) {
    ids.push_back("p" + std::to_string(i) + ":d");
    revisions.push_back(
        EngineFixture::put(*fixture.database, ids.back(), R"({"n":)" + std::to_string(i) + "}").revision);
  }
  fixture.wait_for_automatic_index();
  const auto catalog = fixture.indexes().catalog();
  REQUIRE(catalog);
  IndexView view = (*catalog)->automatic.value();
  view.definition = automatic_path_definition(view.definition->automatic, *FieldPath::parse("n"));

  // given: entries that are being read
  auto reader = IndexReader::open(*fixture.database, view, {});
  REQUIRE(reader);
  REQUIRE(reader->source_count() == 4);
  DocumentLookup documents(*fixture.database, *reader);
  auto entry = reader->seek("");
  // when: each document changes, and its place in the order with it
  for (std::size_t i = 0; i < ids.size(); ++i)
    EngineFixture::put(*fixture.database, ids[i], R"({"n":-1})", revisions[i]);
  // then
  std::size_t rows = 0;
  for (; entry; entry = reader->next(), ++rows) {
    const auto row = IndexRow::decode(entry->key, entry->value);
    REQUIRE(row);
    const auto found = documents.find(row->document_id());
    REQUIRE(found);
    REQUIRE(found->document);
    REQUIRE(rows < ids.size());
    CHECK(found->document->id == ids[rows]);
    CHECK(std::string(found->document->body).find(R"("n":)" + std::to_string(rows)) != std::string::npos);
  }
  CHECK(rows == ids.size());
}

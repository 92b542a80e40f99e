// An API decides what a document looks like as a row, and which documents a condition can be about.

#include <catch2/catch.hpp>

#include "base/json_writer.h"
#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

/// Items `{"id":…,"key":…}` that are the documents `key:id`.
class KeyedItems : public sql::RowShape {
 public:
  bool is_system_property(std::string_view name) const override { return name == "_ts" || name == "_rid"; }

  void append_system_property(const storage::DocumentView& document, std::string_view name,
                              std::string& out) const override {
    if (name == "_ts") {
      out += std::to_string(document.modified_s);
    } else {
      append_json_string(out, "rid-" + std::string(document.id));
    }
  }

  void append_row(const storage::DocumentView& document, std::string& out) const override {
    out.append(document.body, 0, document.body.size() - 1).append(",\"_rid\":");
    append_system_property(document, "_rid", out);
    out += '}';
  }

  std::optional<query::FieldPath> field_path(std::span<const std::string> path) const override {
    return sql::field_path_of(path);
  }

  sql::Narrowing narrow(std::span<const sql::FixedProperty> fixed) const override {
    sql::Narrowing narrowing;
    const auto values_of = [&](std::string_view name) -> const std::vector<json::value>* {
      for (const auto& property : fixed) {
        if (property.path.size() == 1 && property.path[0] == name) return &property.values;
      }
      return nullptr;
    };
    const auto* keys = values_of("key");
    const auto* ids = values_of("id");
    if (!keys || keys->size() != 1) return narrowing;
    const std::string key(keys->front().as_string());
    narrowing.partition_key = key;
    if (!ids) return narrowing;
    narrowing.document_ids.emplace();
    for (const auto& id : *ids) narrowing.document_ids->push_back(key + ":" + std::string(id.as_string()));
    return narrowing;
  }
};

class Items : public SqlFixture {
 public:
  Items() : SqlFixture(partitioned()) {
    shape = &items_;
    for (int i = 0; i < 20; ++i) {
      const std::string key = i % 2 == 0 ? "a" : "b";
      const std::string id = "i" + std::to_string(i);
      put(key + ":" + id, R"({"id":")" + id + R"(","key":")" + key + R"(","n":)" + std::to_string(i) + "}");
    }
  }

 private:
  static partitioning::CreateDatabaseOptions partitioned() {
    partitioning::CreateDatabaseOptions options;
    options.partitioned = true;
    options.q = 4;
    return options;
  }
  KeyedItems items_;
};

}  // namespace

TEST_CASE("rows are what the API makes of documents") {
  Items items;
  CHECK(items.ask("SELECT * FROM c WHERE c.n = 3") == R"([{"id":"i3","key":"b","n":3,"_rid":"rid-b:i3"}])");
  CHECK(items.ask("SELECT c._rid, c.id FROM c WHERE c._ts > 0 AND c.n = 4") == R"([{"_rid":"rid-a:i4","id":"i4"}])");
  CHECK(items.ask("SELECT VALUE c._id FROM c") == "[]");
}

TEST_CASE("conditions on key and id become point reads") {
  Items items;
  const auto reads = [&](std::string_view text) {
    const auto page = items.page(parse_sql(text), {}, {});
    return SqlFixture::joined(page.results) + " by " + std::to_string(page.statistics.documents_examined);
  };
  CHECK(reads("SELECT VALUE c.n FROM c WHERE c.id = 'i4' AND c.key = 'a'") == "[4] by 1");
  CHECK(reads("SELECT VALUE c.n FROM c WHERE c.key = 'a' AND c.id IN ('i6', 'i2', 'i3', 'none') AND c.n > 1") ==
        "[2,6] by 2");
  CHECK(reads("SELECT VALUE c.n FROM c WHERE c.key = 'a' AND c.id = 'i5'") == "[] by 0");
  CHECK(reads("SELECT VALUE COUNT(1) FROM c WHERE c.key = 'b'") == "[10] by 10");
  CHECK(reads("SELECT VALUE COUNT(1) FROM c WHERE c.key = 'b' OR c.n = 0") == "[11] by 20");
  CHECK(items.ask_by_pages("SELECT VALUE c.n FROM c WHERE c.key = 'a' AND c.id IN ('i0', 'i2', 'i4', 'i6')", 1) ==
        "[0,2,4,6]");
  CHECK(items.ask_by_pages("SELECT VALUE c.n FROM c WHERE c.key = 'a' AND c.id IN ('i0', 'i2', 'i4') ORDER BY c.n DESC",
                           2) == "[4,2,0]");
}

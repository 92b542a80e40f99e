#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "query/search/search_index.h"
#include "support/apply_changes.h"
#include "support/temporary_folder.h"

namespace octavo::query::search {

/// Fields of documents, as a test decides.
class GivenFields final : public FieldSource {
 public:
  explicit GivenFields(std::shared_ptr<std::map<std::string, std::vector<IndexedField>>> fields)
      : fields_(std::move(fields)) {}
  Expected<void> read(const FeedDocument& document, std::vector<IndexedField>& fields) override {
    const auto found = fields_->find(document.id);
    if (found != fields_->end()) fields = found->second;
    return {};
  }
  bool scores_length(std::string_view) const override { return true; }

 private:
  std::shared_ptr<std::map<std::string, std::vector<IndexedField>>> fields_;
};

/// A search index in a temporary folder, and the feed that it follows.
class SearchIndexFixture {
 public:
  explicit SearchIndexFixture(boost::json::value analyzer = "standard") : analyzer_(std::move(analyzer)) { reopen(); }

  void reopen() {
    index.reset();
    auto analyzers = make_analyzers(analyzer_);
    REQUIRE(analyzers);
    FeedIndexOptions options;
    options.folder = folder.path() / "search-test";
    options.durability = config::Durability::ephemeral;
    options.faults = faults;
    index = std::make_unique<SearchIndex>("test", *analyzers, std::make_unique<GivenFields>(fields_), options);
    const auto opened = index->open(sequence_);
    INFO((opened ? std::string() : opened.error().reason));
    REQUIRE(opened);
  }

  static IndexedField text(std::string name, std::string value, bool store = false, bool facet = false) {
    IndexedField field;
    field.name = std::move(name);
    field.value = std::move(value);
    field.store = store;
    field.facet = facet;
    return field;
  }
  static IndexedField number(std::string name, double value, bool store = false) {
    IndexedField field;
    field.name = std::move(name);
    field.value = value;
    field.store = store;
    field.facet = true;
    return field;
  }

  /// Queued until apply().
  void put(const std::string& id, std::vector<IndexedField> fields, const std::string& partition = {}) {
    (*fields_)[id] = std::move(fields);
    FeedDocument document;
    document.id = id;
    document.partition_key = partition;
    document.present = true;
    document.sequence = ++sequence_;
    queued_.push_back(std::move(document));
  }
  void remove(const std::string& id) {
    FeedDocument document;
    document.id = id;
    document.sequence = ++sequence_;
    queued_.push_back(std::move(document));
  }
  Expected<void> try_apply() {
    auto applied = tests::apply_all(*index, queued_, sequence_);
    if (applied) queued_.clear();
    return applied;
  }
  void apply() {
    const auto applied = try_apply();
    INFO((applied ? std::string() : applied.error().reason));
    REQUIRE(applied);
  }

  SearchRequest request(std::string_view query) const {
    SearchRequest made;
    const auto parsed = parse_query(query);
    INFO((parsed ? std::string() : parsed.error().reason));
    REQUIRE(parsed);
    made.query = *parsed;
    made.at_least = index->checkpoint();
    return made;
  }
  SearchResult run(const SearchRequest& request) const {
    auto result = index->search(request);
    INFO((result ? std::string() : result.error().reason));
    REQUIRE(result);
    return *std::move(result);
  }
  static std::vector<std::string> ids(const std::vector<SearchHit>& hits) {
    std::vector<std::string> ids;
    for (const auto& hit : hits) ids.push_back(hit.id);
    return ids;
  }
  /// Ids in the order of the hits.
  std::vector<std::string> find(std::string_view query) const { return ids(run(request(query)).hits); }
  std::vector<std::string> find_sorted(std::string_view query) const {
    auto found = find(query);
    std::ranges::sort(found);
    return found;
  }
  storage::Sequence sequence() const { return sequence_; }

  tests::TemporaryFolder folder;
  storage::FaultInjector* faults = nullptr;
  std::unique_ptr<SearchIndex> index;

 private:
  boost::json::value analyzer_;
  std::shared_ptr<std::map<std::string, std::vector<IndexedField>>> fields_ =
      std::make_shared<std::map<std::string, std::vector<IndexedField>>>();
  std::vector<FeedDocument> queued_;
  storage::Sequence sequence_ = 0;
};

/// Three products of a shop, with a text, a brand and a price.
inline void put_products(SearchIndexFixture& shop) {
  shop.put("scales",
           {SearchIndexFixture::text("default", "Salter kitchen scales in bright red"),
            SearchIndexFixture::text("brand", "Salter", true, true), SearchIndexFixture::number("price", 14.99, true)});
  shop.put("mixer", {SearchIndexFixture::text("default", "Kenwood stand mixer red"),
                     SearchIndexFixture::text("brand", "Kenwood", true, true),
                     SearchIndexFixture::number("price", 199.99, true)});
  shop.put("kettle",
           {SearchIndexFixture::text("default", "Salter kettle blue"),
            SearchIndexFixture::text("brand", "Salter", true, true), SearchIndexFixture::number("price", 25, true)});
  shop.apply();
}

}  // namespace octavo::query::search

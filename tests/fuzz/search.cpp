// Full-text search: any text as a query `q` of a small index. It is refused in Lucene's words or answered, what it does
// not find is what its negation finds, and it means the same in parentheses.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/thread_pool.hpp>
#include <boost/json.hpp>
#include <simdjson.h>
#include <spdlog/spdlog.h>

#include "fuzz/target.h"
#include "query/search/search_index.h"
#include "query/search/syntax/query_syntax.h"
#include "support/apply_changes.h"
#include "support/temporary_folder.h"

namespace {

using namespace octavo;
using namespace octavo::query;
using namespace octavo::query::search;
using octavo::fuzz::InputReader;
using octavo::fuzz::require;

struct Field {
  const char* name;
  std::variant<std::string, double, bool> value;
};
const std::vector<std::vector<Field>> indexed_documents{
    {{"default", "Salter scales weigh the salt of the earth"}, {"price", 7.5}, {"new", true}},
    {{"default", "salt and pepper, pepper and salt"}, {"price", 12.0}, {"brand", "Salter"}},
    {{"default", "the scale of a fish"}, {"price", -3.0}, {"brand", "none"}},
    {{"default", "Größe 40, naïve café, 東京 タワー"}, {"price", 1e300}, {"brand", "a\\b:c (d) \"e\""}},
    {{"brand", "Acme Acme Acme"}, {"price", 0.0}},
    {{"default", ""}, {"new", false}},
    {{"default", "salt"}, {"default", "second value of one field"}},
    {{"other.path", "dots in names"}, {"price", 12.0}},
};

class Fields final : public FieldSource {
 public:
  Expected<void> read(const FeedDocument& document, std::vector<IndexedField>& fields) override {
    fields.clear();
    for (const Field& field : indexed_documents[static_cast<std::size_t>(document.id[0] - 'a')]) {
      fields.emplace_back();
      fields.back().name = field.name;
      fields.back().value = field.value;
      fields.back().store = true;
    }
    return {};
  }
  bool scores_length(std::string_view) const override { return true; }
};

/// The same documents, analyzed in different ways.
class Shelf {
 public:
  Shelf(const std::filesystem::path& folder, const boost::json::value& analyzer) {
    auto analyzers = make_analyzers(analyzer);
    require(analyzers.has_value(), "there is such an analyzer");
    FeedIndexOptions options;
    options.folder = folder;
    options.durability = config::Durability::ephemeral;
    options.stopping = std::make_shared<std::atomic<bool>>(false);
    index_ = std::make_unique<SearchIndex>("fuzz", *analyzers, std::make_unique<Fields>(), options);
    require(index_->open(0).has_value(), "an index can be made");
    std::vector<FeedDocument> documents;
    for (std::size_t i = 0; i < indexed_documents.size(); ++i) {
      FeedDocument document;
      document.id = std::string(1, static_cast<char>('a' + i));
      document.sequence = i + 1;
      document.present = true;
      documents.push_back(std::move(document));
    }
    require(octavo::tests::apply_all(*index_, documents, documents.size()).has_value(), "and filled");
  }

  /// Ids of the documents found, in their order; nullopt: refused.
  std::optional<std::string> find(const QueryNode& query) {
    SearchRequest request;
    request.query = query;
    request.limit = 200;
    request.at_least = index_->checkpoint();
    request.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    const auto result = index_->search(request);
    if (!result) {
      require(result.error().code != ErrorCode::timeout, "a small index answers in time");
      require(result.error().code == ErrorCode::bad_request, "a refusal is the client's business");
      check_reason(result.error());
      return std::nullopt;
    }
    std::string ids;
    for (const auto& hit : result->hits) ids += hit.id;
    require(result->total_rows == ids.size(), "all are counted that are found");
    std::ranges::sort(ids);
    require(std::ranges::adjacent_find(ids) == ids.end(), "each once");
    return ids;
  }

  static void check_reason(const Error& error) {
    require(!error.reason.empty(), "a refusal has a reason");
    require(simdjson::validate_utf8(error.reason), "which can be read");
  }

 private:
  std::unique_ptr<SearchIndex> index_;
};

std::size_t depth_of(const QueryNode& node) {
  std::size_t depth = 0;
  for (const auto& clause : node.clauses) depth = std::max(depth, depth_of(clause.node));
  return depth + 1;
}

std::size_t size_of(const QueryNode& node) {
  std::size_t size = 1;
  for (const auto& clause : node.clauses) size += size_of(clause.node);
  return size;
}

/// Documents that `query` does not find.
QueryNode everything_but(QueryNode query) {
  QueryNode node;
  node.kind = QueryNode::Kind::clauses;
  node.clauses.push_back({QueryNode::Occur::must, QueryNode{}});
  node.clauses.push_back({QueryNode::Occur::must_not, std::move(query)});
  return node;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // They stay to the end of the process: Lucene's own static objects would be gone before them.
  static const octavo::tests::TemporaryFolder folder;
  static auto& shelves = *new std::array{
      Shelf(folder.path() / "1", "standard"), Shelf(folder.path() / "2", "keyword"),
      Shelf(folder.path() / "3", "english"), Shelf(folder.path() / "4", "german"),
      Shelf(folder.path() / "5",
            boost::json::parse(R"({"name":"perfield","default":"cjk","fields":{"brand":"keyword","price":"email"}})"))};
  spdlog::set_level(spdlog::level::off);
  InputReader in(octavo::fuzz::text_of(data, size));
  Shelf& shelf = shelves[in.byte() % std::size(shelves)];
  const std::string text(in.rest());
  // The API accepts only valid UTF-8.
  if (!simdjson::validate_utf8(text)) return 0;
  const auto query = parse_query(text);
  if (!query) {
    require(query.error().code == ErrorCode::bad_request, "a refusal is the client's business");
    require(query.error().reason.starts_with("Cannot parse '") || text.size() > query_bytes_max, "in Lucene's words");
    Shelf::check_reason(query.error());
    return 0;
  }
  require(depth_of(*query) <= query_depth_max + 2 && size_of(*query) <= query_nodes_max + 2, "a query is bounded");
  const auto found = shelf.find(*query);
  const auto again = parse_query("(" + text + "\n)");
  if (again) require(shelf.find(*again) == found, "parentheses change nothing");
  if (!found) return 0;
  const auto others = shelf.find(everything_but(*query));
  require(others.has_value(), "what can be asked for can be left out");
  std::string all = *found + *others;
  std::ranges::sort(all);
  require(all == "abcdefgh", "a document is found or left out");
  return 0;
}

#include "query/view/summaries.h"

#include <algorithm>
#include <map>
#include <random>

#include <catch2/catch.hpp>

#include "query/json/parsed_document.h"
#include "support/temporary_folder.h"

using namespace octavo;
using namespace octavo::query;
using namespace octavo::query::views;

namespace {

/// Rows of some views with their summaries, and the same rows in a map.
class SummarizedRows {
 public:
  explicit SummarizedRows(std::string_view reduce = "_sum") : store_(options(folder_.path() / "rows")) {
    REQUIRE(store_.create());
    reducer_ = *make_reducer(reduce, nullptr, 0);
  }

  static std::string key_of(std::size_t view, int number, std::string_view id, int pad = 0) {
    DocumentParser parser;
    std::string json = std::to_string(number);
    if (pad > 0) json = "[" + json + ",\"" + std::string(static_cast<std::size_t>(pad), 'x') + "\"]";
    std::string key = view_prefix(view);
    append_sort_key(key, *parser.parse(json));
    append_key_text(key, id);
    key.append(ordinal_bytes, '\0');
    return key;
  }

  /// nullopt erases.
  using Edits = std::map<std::string, std::optional<int>>;
  void apply(std::size_t view, const Edits& edits, std::size_t id_size) {
    std::vector<std::string> changed;
    for (const auto& [key, value] : edits) changed.push_back(key);
    REQUIRE(store_.write(1 << 20, [&](storage::WriteTransaction& transaction) -> Expected<void> {
      for (const auto& [key, value] : edits) {
        if (!value) {
          OCTAVO_TRY_VOID(storage::long_key::erase(transaction, trees().rows, key));
          continue;
        }
        std::string row;
        append_row_value(row, id_size + 2, "null", std::to_string(*value));
        OCTAVO_TRY_VOID(storage::long_key::put(transaction, trees().rows, key, row));
      }
      return update_summaries(transaction, trees(), view, reducer_.get(), changed);
    }));
    for (const auto& [key, value] : edits) {
      if (value) {
        model_[key] = *value;
      } else {
        model_.erase(key);
      }
    }
  }

  SummaryTrees trees() const { return {store_.tree(0), store_.tree(1)}; }
  Expected<storage::ReadTransaction> read() { return store_.read(); }
  const Reducer& reducer() const { return *reducer_; }
  const std::map<std::string, int>& model() const { return model_; }

  std::uint64_t model_rank(std::size_t view, const std::string& key) const {
    const auto begin = model_.lower_bound(view_prefix(view));
    const auto end = model_.lower_bound(std::min(key, after_prefix(view_prefix(view))));
    return key < view_prefix(view) ? 0 : static_cast<std::uint64_t>(std::distance(begin, end));
  }
  std::optional<long> model_sum(const std::string& low, const std::string& high) const {
    std::optional<long> sum;
    for (auto row = model_.lower_bound(low); row != model_.end() && row->first < high; ++row) {
      sum = sum.value_or(0) + row->second;
    }
    return sum;
  }
  void check(std::size_t view) {
    const auto transaction = *read();
    const auto problem = check_summaries(transaction, trees(), view, reducer_.get());
    REQUIRE(problem);
    INFO(problem->value_or(""));
    CHECK(!*problem);
  }

 private:
  static storage::Store::Options options(const std::filesystem::path& folder) {
    storage::Store::Options options;
    options.folder = folder;
    options.trees = {"rows", "summaries", std::string(storage::tree_of_long_keys)};
    options.durability = config::Durability::ephemeral;
    options.capacity_bytes_initial = 16 << 20;
    return options;
  }
  tests::TemporaryFolder folder_;
  storage::Store store_;
  std::unique_ptr<Reducer> reducer_;
  std::map<std::string, int> model_;
};

void compare_summaries(SummarizedRows& rows, std::size_t view, std::mt19937& random, int numbers) {
  rows.check(view);
  const auto transaction = *rows.read();
  const SummaryReader reader(transaction, rows.trees(), view, &rows.reducer());
  const std::string begin = view_prefix(view);
  const std::string end = after_prefix(begin);
  const auto total = rows.model_rank(view, end);
  CHECK(reader.count() == total);
  CHECK(reader.rank(end) == total);
  CHECK(!reader.at(total));
  std::vector<std::string> keys;
  for (auto row = rows.model().lower_bound(begin); row != rows.model().end() && row->first < end; ++row) {
    keys.push_back(row->first);
  }
  for (int i = 0; i < 60; ++i) {
    const auto a = SummarizedRows::key_of(view, static_cast<int>(random()) % (numbers + 1), "d" + std::to_string(i));
    const auto b = i % 7 == 0 ? end : SummarizedRows::key_of(view, static_cast<int>(random()) % (numbers + 1), "d");
    const auto low = i % 5 == 0 ? begin : std::min(a, b);
    const auto high = std::max(a, b);
    CHECK(reader.rank(low) == rows.model_rank(view, low));
    const auto state = reader.reduce(low, high);
    REQUIRE(state);
    const auto sum = rows.model_sum(low, high);
    CHECK(state->has_value() == sum.has_value());
    if (*state && sum) CHECK(**state == std::to_string(*sum));
    if (total > 0) {
      const auto rank = random() % total;
      CHECK(reader.at(rank) == keys[rank]);
    }
  }
}

}  // namespace

TEST_CASE("summaries of any rows count and reduce as the rows themselves") {
  SummarizedRows rows;
  std::mt19937 random(3);
  const int numbers = GENERATE(30, 2000, 200'000);
  for (int round = 0; round < 12; ++round) {
    SummarizedRows::Edits edits;
    const int count = round < 3 ? 3 : 1500;
    for (int i = 0; i < count; ++i) {
      const int number = static_cast<int>(random() % static_cast<unsigned>(numbers));
      // Rows come and go in turns, until few are left.
      const bool erase = round > 6 ? random() % 8 != 0 : random() % 4 == 0;
      if (erase && !rows.model().empty()) {
        auto row = rows.model().lower_bound(SummarizedRows::key_of(0, number, ""));
        for (int run = 0; row != rows.model().end() && row->first < after_prefix(view_prefix(0)) && run < 5; ++run) {
          edits[row->first] = std::nullopt;
          ++row;
        }
        continue;
      }
      edits[SummarizedRows::key_of(0, number, "d" + std::to_string(random() % 9))] = static_cast<int>(random() % 100);
    }
    rows.apply(0, edits, 2);
    // Another view's rows are none of its business.
    rows.apply(1, {{SummarizedRows::key_of(1, round, "dd"), 7}}, 2);
    compare_summaries(rows, 0, random, numbers);
    compare_summaries(rows, 1, random, numbers);
  }
}

TEST_CASE("summaries of rows that were written in order have few blocks") {
  SummarizedRows rows;
  for (int batch = 0; batch < 20; ++batch) {
    SummarizedRows::Edits edits;
    for (int i = 0; i < 1000; ++i) edits[SummarizedRows::key_of(3, batch * 1000 + i, "d")] = 1;
    rows.apply(3, edits, 1);
  }
  std::mt19937 random(1);
  compare_summaries(rows, 3, random, 20'000);
  const auto transaction = *rows.read();
  CHECK(storage::count_rows(transaction, rows.trees().summaries) < 500);
}

TEST_CASE("the summaries of a view without rows are gone") {
  SummarizedRows rows;
  SummarizedRows::Edits edits;
  for (int i = 0; i < 5000; ++i) edits[SummarizedRows::key_of(0, i, "d")] = i;
  rows.apply(0, edits, 1);
  rows.check(0);
  for (auto& [key, value] : edits) value.reset();
  rows.apply(0, edits, 1);
  const auto transaction = *rows.read();
  CHECK(storage::count_rows(transaction, rows.trees().summaries) == 0);
  CHECK(SummaryReader(transaction, rows.trees(), 0, &rows.reducer()).count() == 0);
  CHECK(!*SummaryReader(transaction, rows.trees(), 0, &rows.reducer()).reduce(view_prefix(0), view_prefix(1)));
}

TEST_CASE("summaries go with keys that are longer than LMDB's") {
  SummarizedRows rows;
  std::mt19937 random(5);
  SummarizedRows::Edits edits;
  for (int i = 0; i < 600; ++i) {
    edits[SummarizedRows::key_of(0, static_cast<int>(random() % 50), "d" + std::to_string(i % 10), 700)] = i;
  }
  rows.apply(0, edits, 2);
  compare_summaries(rows, 0, random, 50);
}

TEST_CASE("a check finds a summary that is not what its rows say") {
  SummarizedRows rows;
  SummarizedRows::Edits edits;
  for (int i = 0; i < 300; ++i) edits[SummarizedRows::key_of(0, i, "d")] = i;
  rows.apply(0, edits, 1);
  rows.check(0);
  const auto transaction = *rows.read();
  CHECK(!*check_summaries(transaction, rows.trees(), 0, &rows.reducer()));
  // The same summaries are wrong for another reduce function.
  const auto count = *make_reducer("_count", nullptr, 0);
  CHECK(*check_summaries(transaction, rows.trees(), 0, count.get()));
}

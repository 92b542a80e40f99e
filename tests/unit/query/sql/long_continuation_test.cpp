// Continuations of results whose order is by long values: they stay short, and hold while documents come and go.

#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

#include "query/sql/run/continuation.h"
#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

constexpr std::size_t continuation_bytes_max = 512;

/// Items whose `x` has `length` bytes and, up to the last characters, the same text.
class LongTexts : public SqlFixture {
 public:
  explicit LongTexts(int count, std::size_t length = 20'000) : length_(length) {
    for (int i = 0; i < count; ++i) write(number_of(i * 100));
  }

  static std::string number_of(int i) { return std::to_string(100'000 + i); }
  std::string text_of(const std::string& number) const { return std::string(length_, 'x') + number; }

  void write(const std::string& number) {
    revisions_[number] =
        EngineFixture::put(*database, "d" + number, R"({"n":)" + number + R"(,"x":")" + text_of(number) + R"("})")
            .revision;
  }
  void remove(const std::string& number) {
    EngineFixture::put(*database, "d" + number, "{}", revisions_.at(number), true);
    revisions_.erase(number);
  }

  /// The last six characters of each result; `between` is called after each page with what was read so far.
  template <class Between>
  std::vector<std::string> read(std::string_view text, std::uint64_t items, Between&& between) {
    const auto query = parse_sql(text);
    std::vector<std::string> seen;
    std::optional<std::string> continuation;
    pages = 0;
    do {
      sql::SqlOptions options;
      options.page_items_max = items;
      const Page next = page(query, {}, options, continuation);
      if (!next.error.empty()) return {"error: " + next.error};
      if (next.continuation) longest = std::max(longest, next.continuation->size());
      for (std::size_t at = next.results.find("xxx1"); at != std::string::npos; at = next.results.find("xxx1", at)) {
        at += 3;
        seen.push_back(next.results.substr(at, 6));
      }
      ++pages;
      between(seen);
      continuation = next.continuation;
    } while (continuation && pages < 1000);
    return seen;
  }
  std::vector<std::string> read(std::string_view text, std::uint64_t items) {
    return read(text, items, [](const auto&) {});
  }

  std::vector<std::string> numbers() const {
    std::vector<std::string> all;
    for (const auto& [number, revision] : revisions_) all.push_back(number);
    return all;
  }

  std::size_t longest = 0;

 private:
  std::size_t length_;
  std::map<std::string, storage::Revision> revisions_;
};

const std::vector<std::string> query_shapes{
    "SELECT VALUE c.x FROM c ORDER BY c.x",
    "SELECT VALUE c.x FROM c ORDER BY c.x, c.n DESC",
    "SELECT DISTINCT VALUE c.x FROM c",
    "SELECT DISTINCT VALUE c.x FROM c ORDER BY c.x",
    "SELECT c.x, COUNT(1) AS count FROM c GROUP BY c.x",
    "SELECT DISTINCT c.x FROM c GROUP BY c.x",
    "SELECT VALUE c.x FROM c GROUP BY c.x",
    "SELECT VALUE t FROM c JOIN t IN (SELECT VALUE [c.x]) ORDER BY t",
};

std::vector<std::string> reversed(std::vector<std::string> values) {
  std::ranges::reverse(values);
  return values;
}

}  // namespace

TEST_CASE("pages by long values with one beginning are complete, and their continuations short") {
  LongTexts texts(45);
  const auto all = texts.numbers();
  for (const std::string& shape : query_shapes) {
    for (const std::uint64_t items : {1, 4, 44, 45, 100}) {
      INFO(shape << " by " << items);
      CHECK(texts.read(shape, items) == all);
    }
  }
  CHECK(texts.read("SELECT VALUE c.x FROM c ORDER BY c.x DESC", 4) == reversed(all));
  CHECK(texts.read("SELECT VALUE c.x FROM c ORDER BY c.x OFFSET 20 LIMIT 20", 3) ==
        std::vector<std::string>(all.begin() + 20, all.begin() + 40));
  CHECK(texts.read("SELECT TOP 30 VALUE c.x FROM c ORDER BY c.x", 7) ==
        std::vector<std::string>(all.begin(), all.begin() + 30));
  CHECK(texts.longest > 300);
  CHECK(texts.longest < continuation_bytes_max);
}

TEST_CASE("what is inserted between pages is seen where its place is still to come, and nothing twice") {
  for (const std::string& shape : query_shapes) {
    for (const std::uint64_t items : {3, 20}) {
      INFO(shape << " by " << items);
      LongTexts texts(40);
      auto expected = texts.numbers();
      const auto seen = texts.read(shape, items, [&](const std::vector<std::string>& so_far) {
        if (texts.pages > 3 || so_far.empty()) return;
        const int last = std::stoi(so_far.back()) - 100'000;
        texts.write(LongTexts::number_of(last - 5));
        texts.write(LongTexts::number_of(last + 5));
        // After the last page nothing follows.
        if (so_far.size() < expected.size()) expected.push_back(LongTexts::number_of(last + 5));
      });
      std::ranges::sort(expected);
      CHECK(seen == expected);
    }
  }
}

TEST_CASE("what is deleted between pages, the last row of a page too, takes nothing else along") {
  for (const std::string& shape : query_shapes) {
    for (const std::uint64_t items : {3, 20}) {
      INFO(shape << " by " << items);
      LongTexts texts(42);
      auto expected = texts.numbers();
      auto seen = texts.read(shape, items, [&](const std::vector<std::string>& so_far) {
        if (texts.pages > 2 || so_far.size() >= 41) return;
        const int last = std::stoi(so_far.back()) - 100'000;
        texts.remove(LongTexts::number_of(last));
        texts.remove(LongTexts::number_of(last + 100));
        std::erase(expected, LongTexts::number_of(last + 100));
      });
      // The position of the row that is gone is not known: those that begin alike come once more.
      std::ranges::sort(seen);
      seen.erase(std::ranges::unique(seen).begin(), seen.end());
      CHECK(seen == expected);
    }
  }
}

TEST_CASE("a program that deletes what it has read reads everything") {
  for (const std::size_t length : {300, 3'000, 5'000}) {
    for (const std::string& shape : query_shapes) {
      INFO(shape << " of " << length);
      LongTexts texts(30, length);
      const auto expected = texts.numbers();
      std::size_t removed = 0;
      const auto seen = texts.read(shape, 5, [&](const std::vector<std::string>& so_far) {
        for (; removed < so_far.size(); ++removed) texts.remove(so_far[removed]);
      });
      CHECK(seen == expected);
    }
  }
}

TEST_CASE("where the last row of a page goes, up to 4 KiB of its key are its place") {
  for (const std::string& shape : query_shapes) {
    INFO(shape);
    LongTexts texts(30, 1'900);
    const auto expected = texts.numbers();
    const auto seen =
        texts.read(shape, 5, [&](const std::vector<std::string>& so_far) { texts.remove(so_far.back()); });
    CHECK(seen == expected);
  }
}

TEST_CASE("many rows that come in before the last one do not end the pages") {
  for (const std::string& shape : query_shapes) {
    INFO(shape);
    LongTexts texts(12);
    const auto expected = texts.numbers();
    const auto seen = texts.read(shape, 2, [&](const std::vector<std::string>&) {
      if (texts.pages != 1) return;
      for (int i = 1; i <= 30; ++i) texts.write(LongTexts::number_of(i));
    });
    // All that had been there is seen; of what came in before, some may be.
    for (const std::string& number : expected) CHECK(std::ranges::count(seen, number) == 1);
  }
}

TEST_CASE("values of different lengths, and long ones beside short ones, are paged in order") {
  SqlFixture db;
  std::vector<std::string> texts;
  for (const std::size_t size : {0, 1, 100, 250, 253, 254, 255, 256, 257, 258, 300, 512, 5'000}) {
    for (const char* tail : {"", "a", "b"}) {
      const std::string text = std::string(size, 'm') + tail;
      if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
    }
  }
  int n = 0;
  for (const std::string& text : texts) db.put("d" + std::to_string(n++), R"({"x":")" + text + R"("})");
  for (const std::string& order : {std::string("c.x"), std::string("c.x DESC"), std::string("c.x, c._id")}) {
    const std::string query = "SELECT VALUE c.x FROM c ORDER BY " + order;
    const std::string whole = db.ask(query);
    for (const std::uint64_t items : {1, 2, 5}) CHECK(db.ask_by_pages(query, items) == whole);
  }
  const std::string groups = "SELECT c.x, COUNT(1) AS n FROM c GROUP BY c.x";
  CHECK(db.ask_by_pages(groups, 1) == db.ask(groups));
}

TEST_CASE("a continuation says the beginning of a long key, and its digest") {
  sql::Continuation point;
  point.kind = sql::Continuation::Kind::grouped;
  point.fingerprint = 9;
  point.set_key(std::string(10'000, 'k'));
  point.same_beginning = 300;
  CHECK_FALSE(point.has_whole_key());
  CHECK(point.key == std::string(256, 'k'));
  CHECK(point.encode().size() < continuation_bytes_max);
  CHECK(sql::Continuation::decode(point.encode()) == point);
  point.set_key("short");
  CHECK(point.has_whole_key());
  // A plain position is always whole.
  point.same_beginning = 0;
  point.set_key(std::string(4'096, 'k'));
  CHECK(point.has_whole_key());
  CHECK(sql::Continuation::decode(point.encode()) == point);
  point.kind = sql::Continuation::Kind::ordered;
  point.start = "entry";
  CHECK(sql::Continuation::decode(point.encode()) == point);
  point.start.clear();
  point.set_key(std::string(5'000, 'k'));
  point.kind = sql::Continuation::Kind::primary;
  CHECK_FALSE(sql::Continuation::decode(point.encode()));
}

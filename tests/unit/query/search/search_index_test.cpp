#include "query/search/search_index.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <random>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "support/patience.h"
#include "unit/query/search/search_index_fixture.h"

using octavo::tests::patiently;

namespace octavo::query::search {
namespace {

using Ids = std::vector<std::string>;
using Fixture = SearchIndexFixture;

TEST_CASE("words find the documents that have any of them, the best first") {
  Fixture shop;
  put_products(shop);
  CHECK(shop.find("salter scales red").front() == "scales");
  CHECK(shop.find("salter scales red").size() == 3);
  CHECK(shop.find_sorted("+salter +red") == Ids{"scales"});
  CHECK(shop.find_sorted("salter AND NOT blue") == Ids{"scales"});
  CHECK(shop.find("nothing").empty());
  CHECK(shop.find_sorted("*:*") == Ids{"kettle", "mixer", "scales"});
  CHECK(shop.find("the and of").empty());
  CHECK(shop.find("-red").empty());
}

TEST_CASE("fields, phrases, wildcards, fuzzy words and regular expressions") {
  Fixture shop;
  put_products(shop);
  CHECK(shop.find_sorted("brand:salter") == Ids{"kettle", "scales"});
  CHECK(shop.find_sorted("\"kitchen scales\"") == Ids{"scales"});
  CHECK(shop.find_sorted("\"scales kitchen\"").empty());
  CHECK(shop.find_sorted("\"salter scales\"~1") == Ids{"scales"});
  CHECK(shop.find_sorted("ke*") == Ids{"kettle", "mixer"});
  CHECK(shop.find_sorted("k?ttle") == Ids{"kettle"});
  CHECK(shop.find_sorted("sc*es") == Ids{"scales"});
  CHECK(shop.find_sorted("saltre~") == Ids{"kettle", "scales"});
  CHECK(shop.find_sorted("salzer~1") == Ids{"kettle", "scales"});
  CHECK(shop.find_sorted("/ke(ttle|nwood)/") == Ids{"kettle", "mixer"});
  CHECK(shop.find_sorted("_id:scales") == Ids{"scales"});
}

TEST_CASE("numbers are found by value and by range") {
  Fixture shop;
  put_products(shop);
  CHECK(shop.find_sorted("price:25") == Ids{"kettle"});
  CHECK(shop.find_sorted("price:[10 TO 25]") == Ids{"kettle", "scales"});
  CHECK(shop.find_sorted("price:[10 TO 25}") == Ids{"scales"});
  CHECK(shop.find_sorted("price:{14.99 TO *]") == Ids{"kettle", "mixer"});
  CHECK(shop.find_sorted("price:[-Infinity TO Infinity]") == Ids{"kettle", "mixer", "scales"});
  CHECK(shop.find_sorted("price:[* TO *]") == Ids{"kettle", "mixer", "scales"});
  CHECK(shop.find_sorted("brand:[k TO l]") == Ids{"mixer"});
  CHECK(shop.find_sorted("brand:[* TO *]") == Ids{"kettle", "mixer", "scales"});
}

TEST_CASE("an updated document is found as it is now, a deleted one no more") {
  Fixture shop;
  put_products(shop);
  shop.put("kettle", {Fixture::text("default", "Salter kettle green")});
  shop.remove("mixer");
  shop.apply();
  CHECK(shop.find("blue").empty());
  CHECK(shop.find_sorted("green") == Ids{"kettle"});
  CHECK(shop.find("kenwood").empty());
  CHECK(shop.run(shop.request("*:*")).total_rows == 2);
  // A document that the function says nothing about any more.
  shop.put("kettle", {});
  shop.apply();
  CHECK(shop.find_sorted("*:*") == Ids{"scales"});
}

TEST_CASE("applying the same documents twice does no harm") {
  Fixture shop;
  put_products(shop);
  put_products(shop);
  CHECK(shop.run(shop.request("*:*")).total_rows == 3);
}

TEST_CASE("stored fields come back as they were given, several values as an array") {
  Fixture shop;
  shop.put("a", {Fixture::text("name", "Ünï \"quoted\"", true), Fixture::number("price", 14.5, true),
                 Fixture::number("count", 3, true), Fixture::text("tag", "x", true), Fixture::text("tag", "y", true),
                 Fixture::text("hidden", "z")});
  shop.apply();
  CHECK(shop.run(shop.request("*:*")).hits[0].fields ==
        R"({"count":3,"name":"Ünï \"quoted\"","price":14.5,"tag":["x","y"]})");
  auto some = shop.request("*:*");
  some.include_fields = {"price", "nothing"};
  CHECK(shop.run(some).hits[0].fields == R"({"price":14.5})");
}

TEST_CASE("booleans are found by their name") {
  Fixture shop;
  IndexedField field;
  field.name = "sold";
  field.value = true;
  shop.put("a", {field});
  shop.apply();
  CHECK(shop.find_sorted("sold:true") == Ids{"a"});
  CHECK(shop.find("sold:false").empty());
}

TEST_CASE("hits are sorted by numbers and strings, in either direction, missing values first") {
  Fixture shop(boost::json::value("keyword"));
  shop.put("a", {Fixture::text("name", "pear"), Fixture::number("price", 2)});
  shop.put("b", {Fixture::text("name", "apple"), Fixture::number("price", 10)});
  shop.put("c", {Fixture::text("name", "Apple"), Fixture::number("price", -1)});
  shop.put("d", {Fixture::number("other", 1)});
  shop.apply();
  const auto sorted = [&](std::vector<std::string> keys) {
    auto request = shop.request("*:*");
    for (const auto& key : keys) request.sort.push_back(*parse_sort_key(key));
    return Fixture::ids(shop.run(request).hits);
  };
  CHECK(sorted({"price<number>"}) == Ids{"d", "c", "a", "b"});
  CHECK(sorted({"-price"}) == Ids{"b", "a", "c", "d"});
  CHECK(sorted({"name<string>"}) == Ids{"d", "c", "b", "a"});
  CHECK(sorted({"-name<string>"}) == Ids{"a", "b", "c", "d"});
  CHECK(sorted({"<doc>"}) == Ids{"a", "b", "c", "d"});
  CHECK(sorted({"-<doc>"}) == Ids{"d", "c", "b", "a"});
  auto request = shop.request("*:*");
  request.sort.push_back(*parse_sort_key("price<number>"));
  const auto hits = shop.run(request).hits;
  CHECK(hits[0].order == std::vector<OrderValue>{std::monostate{}, 3.0});
  CHECK(hits[1].order == std::vector<OrderValue>{-1.0, 2.0});
  CHECK_FALSE(parse_sort_key("price<date>"));
  CHECK_FALSE(parse_sort_key("pri ce"));
}

TEST_CASE("hits are sorted by their distance from a point, those without a place last") {
  Fixture map;
  const auto put = [&](const char* id, double longitude, double latitude) {
    map.put(id, {Fixture::number("lon", longitude), Fixture::number("lat", latitude)});
  };
  map.put("nowhere", {Fixture::number("lon", 1)});
  put("Aberdeen", -2.15, 57.15);
  put("Suva", 178.44, -18.14);
  put("Apia", -171.76, -13.83);  // on the other side of the date line
  put("Lima", -77.03, -12.05);
  map.apply();
  const auto hits_by = [&](const char* key) {
    auto request = map.request("*:*");
    request.sort.push_back(*parse_sort_key(key));
    return map.run(request).hits;
  };
  const auto from_suva = hits_by("<distance,lon,lat,178.44,-18.14,km>");
  CHECK(Fixture::ids(from_suva) == Ids{"Suva", "Apia", "Lima", "Aberdeen", "nowhere"});
  CHECK(std::get<double>(from_suva[0].order[0]) == 0);
  CHECK(std::get<double>(from_suva[4].order[0]) == Approx(20037.508));  // half of the equator
  CHECK(Fixture::ids(hits_by("-<distance,lon,lat,178.44,-18.14,km>")) ==
        Ids{"nowhere", "Aberdeen", "Lima", "Apia", "Suva"});
  const auto from_new_york = hits_by("<distance,lon,lat,-74.0059,+40.7127,mi>");
  CHECK(from_new_york[0].id == "Aberdeen");
  CHECK(std::get<double>(from_new_york[0].order[0]) == Approx(3283.38));
  CHECK(Fixture::ids(hits_by("<distance,lon,lat,180,0,km>")).front() == "Apia");

  for (const auto* bad : {"<distance,lon,lat,1,2,ft>", "<distance,lon,lat,1,2>", "<distance,lon,lat,1,2,km,>",
                          "<distance,lon,,1,2,km>", "<distance,lon,lat,181,2,km>", "<distance,lon,lat,1,91,km>",
                          "<distance,lon,lat,1e0,2,km>", "<distance,lon,lat,nan,2,km>", "<distance,lon,lat,1,2,km"}) {
    INFO(bad);
    CHECK_FALSE(parse_sort_key(bad));
  }
  CHECK(sort_checksum({*parse_sort_key("<distance,lon,lat,1,2,km>")}) !=
        sort_checksum({*parse_sort_key("<distance,lon,lat,1,2,mi>")}));
}

TEST_CASE("pages follow each other without a row twice or left out, also while the index merges and grows") {
  Fixture shop;
  std::set<std::string> all;
  for (int i = 0; i < 300; ++i) {
    const std::string id = fmt::format("d{:03}", i);
    all.insert(id);
    shop.put(id, {Fixture::text("default", i % 3 == 0 ? "red red" : "red"), Fixture::number("n", i % 7)});
    if (i % 10 == 9) shop.apply();
  }
  for (const std::string& key : std::vector<std::string>{"", "n<number>", "-n<number>"}) {
    INFO(key);
    auto request = shop.request("red");
    request.limit = 17;
    if (!key.empty()) request.sort.push_back(*parse_sort_key(key));
    std::set<std::string> seen;
    for (int page = 0; page < 40; ++page) {
      const auto result = shop.run(request);
      for (const auto& hit : result.hits) CHECK(seen.insert(hit.id).second);
      if (result.hits.empty()) break;
      const auto text = result.bookmark.encode();
      request.bookmark = SearchBookmark::decode(text);
      REQUIRE(request.bookmark);
      shop.put(fmt::format("other{}{}", key, page), {Fixture::text("unrelated", "blue")});
      shop.apply();
      request.at_least = shop.index->checkpoint();
    }
    CHECK(seen == all);
  }
}

TEST_CASE("a bookmark that was changed, or is of another order, is refused") {
  SearchBookmark bookmark{.sort = 7, .ordinal = 12, .order = {1.5, std::string("x"), std::monostate{}}};
  const std::string text = bookmark.encode();
  CHECK(SearchBookmark::decode(text) == bookmark);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    const auto decoded = SearchBookmark::decode(changed);
    CHECK((!decoded || *decoded == bookmark));
  }
  CHECK_FALSE(SearchBookmark::decode(""));
  CHECK_FALSE(SearchBookmark::decode("nonsense"));
  Fixture shop;
  put_products(shop);
  auto request = shop.request("red");
  request.bookmark = SearchBookmark{.sort = sort_checksum({*parse_sort_key("price")}), .ordinal = 1, .order = {1.0}};
  CHECK(shop.index->search(request).error().reason == "sort order not compatible with given bookmark");
  request.bookmark = SearchBookmark{.sort = sort_checksum({}), .ordinal = 1, .order = {std::string("x")}};
  CHECK(shop.index->search(request).error().code == ErrorCode::bad_request);
}

TEST_CASE("facets are counted, ranges too, and drilling down narrows the result") {
  Fixture shop;
  put_products(shop);
  auto request = shop.request("*:*");
  request.counts = {"brand"};
  request.ranges = {
      {"price", {*parse_facet_range("cheap", "[0 TO 25]"), *parse_facet_range("dear", "{25 TO Infinity]")}}};
  auto result = shop.run(request);
  REQUIRE(result.counts.size() == 1);
  CHECK(result.counts[0].second == FacetCounts{{"Salter", 2}, {"Kenwood", 1}});
  CHECK(result.ranges[0].second == FacetCounts{{"cheap", 2}, {"dear", 1}});
  request.drilldown = {{"brand", "Salter"}};
  result = shop.run(request);
  CHECK(result.total_rows == 2);
  CHECK(result.counts[0].second == FacetCounts{{"Salter", 2}});
  request.drilldown = {{"brand", "Salter", "Kenwood"}};
  CHECK(shop.run(request).total_rows == 3);
  request.drilldown = {{"brand", "salter"}};
  CHECK(shop.run(request).total_rows == 0);
  request.drilldown.clear();
  request.counts = {"unknown"};
  CHECK(shop.index->search(request).error().reason == "dimension \"unknown\" was not indexed");
  CHECK_FALSE(parse_facet_range("x", "[a TO b]"));
  CHECK_FALSE(parse_facet_range("x", "nonsense"));
}

TEST_CASE("drilling down does not change how well documents fit") {
  Fixture shop;
  put_products(shop);
  auto request = shop.request("salter red");
  const auto plain = shop.run(request);
  request.drilldown = {{"brand", "Salter", "Kenwood"}};
  CHECK(Fixture::ids(shop.run(request).hits) == Fixture::ids(plain.hits));
}

TEST_CASE("groups, the one with the best document first") {
  Fixture shop(boost::json::value("keyword"));
  for (int i = 0; i < 12; ++i) {
    shop.put(fmt::format("d{:02}", i),
             {Fixture::text("colour", i % 3 == 0 ? "red" : "blue"), Fixture::number("price", i)});
  }
  shop.put("none", {Fixture::number("price", 100)});
  shop.apply();
  auto request = shop.request("*:*");
  request.limit = 2;
  request.sort = {*parse_sort_key("-price<number>")};
  request.grouping = Grouping{.field = "colour", .sort = {*parse_sort_key("price<number>")}, .limit = 10};
  const auto result = shop.run(request);
  CHECK(result.total_rows == 13);
  REQUIRE(result.groups.size() == 3);
  CHECK(result.groups[0].by == "red");
  CHECK(result.groups[0].total_rows == 4);
  CHECK(Fixture::ids(result.groups[0].hits) == Ids{"d09", "d06"});
  CHECK(result.groups[1].by == "blue");
  CHECK(Fixture::ids(result.groups[1].hits) == Ids{"d11", "d10"});
  CHECK_FALSE(result.groups[2].by);
  request.grouping->limit = 1;
  CHECK(shop.run(request).groups.size() == 1);
}

TEST_CASE("words that were found are marked in stored fields") {
  Fixture shop;
  shop.put("a", {Fixture::text("text", "Red kitchen scales, red kettle", true)});
  shop.apply();
  auto request = shop.request("text:red OR text:scal*");
  request.highlighting = Highlighting{.fields = {"text", "nothing"}};
  CHECK(shop.run(request).hits[0].highlights ==
        R"({"text":["<em>Red</em> kitchen <em>scales</em>, <em>red</em> kettle"],"nothing":[]})");
  request.highlighting->before = "<b>";
  request.highlighting->after = "</b>";
  request.highlighting->fragment_size = 12;
  request.highlighting->fragments = 2;
  const auto marked = shop.run(request).hits[0].highlights;
  CHECK(marked == R"({"text":["<b>scales</b>, <b>red</b> ","<b>Red</b> kitchen "],"nothing":[]})");
}

TEST_CASE("a search of a partition finds only its documents") {
  Fixture shop;
  for (int i = 0; i < 200; ++i) {
    const std::string partition = fmt::format("p{}", i % 20);
    shop.put(fmt::format("{}:{}", partition, i),
             {Fixture::text("default", i % 2 == 0 ? "red scales" : "blue scales"), Fixture::number("price", i)},
             partition);
    if (i % 50 == 0) shop.apply();
  }
  shop.apply();
  for (const std::string query : {"scales", "red", "sca*", "price:[0 TO 100]", "*:*", "scalse~", "+scales -red"}) {
    INFO(query);
    auto request = shop.request(query);
    request.limit = 200;
    const auto everywhere = Fixture::ids(shop.run(request).hits);
    for (const std::string partition : {"p0", "p7", "p19"}) {
      std::set<std::string> wanted;
      for (const auto& id : everywhere) {
        if (id.starts_with(partition + ":")) wanted.insert(id);
      }
      request.partition = partition;
      const auto result = shop.run(request);
      const auto found = Fixture::ids(result.hits);
      CHECK(std::set<std::string>(found.begin(), found.end()) == wanted);
      CHECK(result.total_rows == wanted.size());
    }
    request.partition = "unknown";
    CHECK(shop.run(request).hits.empty());
    request.partition.reset();
  }
}

TEST_CASE("purged documents are looked for and removed") {
  Fixture shop;
  for (int i = 0; i < 25; ++i) shop.put(fmt::format("d{:02}", i), {Fixture::text("default", "red")});
  shop.apply();
  int calls = 0;
  bool through = false;
  while (!through) {
    const auto is_gone = [](std::string_view id) -> Expected<bool> { return id >= "d20"; };
    const auto step =
        shop.index->remove_purged({.purge_count = 3, .dropped_through = 40, .watermark = 50, .is_gone = is_gone}, 10);
    REQUIRE(step);
    through = *step;
    ++calls;
  }
  CHECK(calls == 3);
  CHECK(shop.index->purge_count() == 3);
  CHECK(shop.index->knows_deletions_through() == 50);
  CHECK(shop.run(shop.request("red")).total_rows == 20);
  shop.reopen();
  CHECK(shop.index->purge_count() == 3);
  CHECK(shop.index->knows_deletions_through() == shop.index->checkpoint());
}

TEST_CASE("a search index removes known purged documents without a look at the others") {
  Fixture shop;
  put_products(shop);
  const auto since = shop.index->checkpoint();
  const auto ahead = shop.index->remove_known({.gone = {"mixer"}, .since = since + 1, .purge_count = 2});
  REQUIRE(ahead);
  CHECK_FALSE(*ahead);
  CHECK(shop.index->purge_count() == 0);
  CHECK(shop.find_sorted("red") == Ids{"mixer", "scales"});
  const auto removed = shop.index->remove_known({.gone = {"mixer", "never"}, .since = since, .purge_count = 2});
  REQUIRE(removed);
  CHECK(*removed);
  for (const bool reopens : {false, true}) {
    if (reopens) shop.reopen();
    CHECK(shop.index->purge_count() == 2);
    CHECK(shop.index->checkpoint() == since);
    CHECK(shop.find_sorted("red") == Ids{"scales"});
    CHECK(shop.run(shop.request("*:*")).total_rows == 2);
  }
  // Those that were purged exist again: there is nothing to remove.
  const auto nothing = shop.index->remove_known({.gone = {}, .since = since, .purge_count = 3});
  REQUIRE(nothing);
  CHECK(*nothing);
  CHECK(shop.index->purge_count() == 3);
  shop.put("mixer", {Fixture::text("default", "Kenwood mixer green")});
  shop.apply();
  CHECK(shop.find_sorted("kenwood OR salter") == Ids{"kettle", "mixer", "scales"});
}

TEST_CASE("a search of purged documents begins again after others were removed that are known") {
  Fixture shop;
  for (int i = 0; i < 25; ++i) shop.put(fmt::format("d{:02}", i), {Fixture::text("default", "red")});
  shop.apply();
  std::vector<std::string> asked;
  const auto is_gone = [&](std::string_view id) -> Expected<bool> {
    asked.emplace_back(id);
    return id == "d24";
  };
  const auto look = [&](std::uint64_t purge_count) {
    return shop.index
        ->remove_purged({.purge_count = purge_count, .dropped_through = 40, .watermark = 50, .is_gone = is_gone}, 10)
        .value();
  };
  CHECK_FALSE(look(1));
  REQUIRE(shop.index->remove_known({.gone = {"d00"}, .since = shop.index->checkpoint(), .purge_count = 2}).value());
  asked.clear();
  CHECK_FALSE(look(3));
  REQUIRE(asked.size() == 10);
  CHECK(asked.front() <= "d01");  // Lucene may still have the term of the one that was removed
  while (!look(3)) {
  }
  CHECK(shop.index->purge_count() == 3);
  CHECK(shop.run(shop.request("red")).total_rows == 23);
}

TEST_CASE("a search stops at its deadline") {
  Fixture shop;
  for (int i = 0; i < 20'000; ++i) {
    shop.put(fmt::format("d{}", i), {Fixture::text("default", fmt::format("word{} red", i))});
  }
  shop.apply();
  auto request = shop.request("word*");
  request.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  CHECK(shop.index->search(request).error().code == ErrorCode::timeout);
  request.deadline = std::chrono::steady_clock::time_point::max();
  CHECK(shop.run(request).total_rows == 20'000);
}

TEST_CASE("what is searched agrees with a naive model, through updates, deletions and reopening") {
  Fixture shop;
  std::mt19937 random(7);
  const std::vector<std::string> words{"red", "blue", "green", "salt", "scale", "kettle"};
  std::map<std::string, std::set<std::string>> model;
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 20; ++i) {
      const std::string id = fmt::format("d{}", random() % 150);
      if (random() % 4 == 0) {
        shop.remove(id);
        model.erase(id);
      } else {
        std::set<std::string> chosen;
        std::string text;
        for (const auto& word : words) {
          if (random() % 3 != 0) continue;
          chosen.insert(word);
          text += word + " ";
        }
        shop.put(id, {Fixture::text("default", text)});
        model[id] = chosen;
      }
    }
    // Each document at most once in a batch.
    shop.apply();
    if (round % 13 == 0) shop.reopen();
    const auto& a = words[random() % words.size()];
    const auto& b = words[random() % words.size()];
    const auto& c = words[random() % words.size()];
    auto request = shop.request(fmt::format("(+{} -{}) OR {}*", a, b, c.substr(0, 2)));
    request.limit = 1000;
    std::set<std::string> wanted;
    for (const auto& [id, chosen] : model) {
      const bool prefix =
          std::ranges::any_of(chosen, [&](const auto& word) { return word.starts_with(c.substr(0, 2)); });
      if ((chosen.contains(a) && !chosen.contains(b)) || prefix) wanted.insert(id);
    }
    const auto found = Fixture::ids(shop.run(request).hits);
    REQUIRE(std::set<std::string>(found.begin(), found.end()) == wanted);
    REQUIRE(found.size() == wanted.size());
  }
}

TEST_CASE("searches do not wait for the functions of an index") {
  std::promise<void> entered;
  std::promise<void> leave;
  struct Waiting final : FieldSource {
    std::promise<void>& entered;
    std::promise<void>& leave;
    Waiting(std::promise<void>& in, std::promise<void>& out) : entered(in), leave(out) {}
    Expected<void> read(const FeedDocument& document, std::vector<IndexedField>& fields) override {
      if (document.id == "slow") {
        entered.set_value();
        leave.get_future().wait();
      }
      fields = {Fixture::text("default", "red")};
      return {};
    }
    bool scores_length(std::string_view) const override { return true; }
  };
  tests::TemporaryFolder folder;
  FeedIndexOptions options;
  options.folder = folder.path() / "search-test";
  options.durability = config::Durability::ephemeral;
  SearchIndex index("test", *make_analyzers("standard"), std::make_unique<Waiting>(entered, leave), options);
  REQUIRE(index.open(0));
  std::vector<FeedDocument> documents(2);
  documents[0].id = "quick";
  documents[1].id = "slow";
  for (std::size_t i = 0; i < 2; ++i) {
    documents[i].present = true;
    documents[i].sequence = i + 1;
  }
  REQUIRE(tests::apply_all(index, std::span(documents).first(1), 1));
  std::thread applying([&] { static_cast<void>(tests::apply_all(index, std::span(documents).last(1), 2)); });
  entered.get_future().wait();
  auto asked = std::async(std::launch::async, [&] { return index.info()->documents; });
  const bool answered = asked.wait_for(std::chrono::seconds(5)) == std::future_status::ready;
  leave.set_value();
  applying.join();
  CHECK(answered);
  CHECK(asked.get() >= 1);
  CHECK(index.checkpoint() == 2);
}

TEST_CASE("highlighting ends at the deadline of its search") {
  Fixture shop;
  std::string text = "found";
  for (int i = 0; i < 1500; ++i) text.append(" ").append(28, 'a');
  shop.put("long", {Fixture::text("default", text, true)});
  shop.apply();
  auto request =
      shop.request("found OR n:/(a+)+[bc]/ OR n:/(a+)+[xc]/ OR n:/(a+)+[yc]/ OR n:/(a+)+[zc]/ OR n:/(a+)+[wc]/");
  request.highlighting.emplace();
  request.highlighting->fields = {"default"};
  const auto begun = std::chrono::steady_clock::now();
  request.deadline = begun + std::chrono::milliseconds(100);
  const auto result = shop.index->search(request);
  CHECK(std::chrono::steady_clock::now() - begun < patiently(std::chrono::milliseconds(5000)));
  REQUIRE(!result);
  CHECK(result.error().code == ErrorCode::timeout);
}

TEST_CASE("searches run beside changes") {
  Fixture shop;
  put_products(shop);
  std::atomic<bool> stop{false};
  std::atomic<int> failures{0};
  std::atomic<int> searches{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&, i] {
      const auto parsed = parse_query(i == 0 ? "red" : i == 1 ? "sca*" : "price:[0 TO 50]");
      while (!stop) {
        SearchRequest request;
        request.query = *parsed;
        request.sort = {SortKey{SortKey::Kind::number, "price", false}};
        request.at_least = shop.index->checkpoint();
        const auto result = shop.index->search(request);
        if (!result || result->total_rows == 0) ++failures;
        ++searches;
      }
    });
  }
  for (int round = 0; round < 150; ++round) {
    for (int i = 0; i < 20; ++i) {
      shop.put(fmt::format("d{}", (round * 20 + i) % 500),
               {Fixture::text("default", "red scales"), Fixture::number("price", i)});
    }
    shop.apply();
    if (round % 40 == 0) shop.index->close_idle(UINT64_MAX);
  }
  stop = true;
  for (auto& reader : readers) reader.join();
  CHECK(failures == 0);
  CHECK(searches > 10);
  CHECK(shop.run(shop.request("*:*")).total_rows == 503);
}

}  // namespace
}  // namespace octavo::query::search

// Strings that _find takes for equal, in an automatic index by bytes.
#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <thread>

#include <catch2/catch.hpp>

#include "../sql/sql_fixture.h"
#include "base/byte_codec.h"
#include "query/collation/collation.h"
#include "query/database/index_check.h"
#include "query/index/automatic_index.h"
#include "query/json/plain_strings.h"
#include "query/plan/key_range.h"
#include "support/patience.h"
#include "support/rounds.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::EngineFixture;
using octavo::tests::ids_of;
using octavo::tests::run_task;
using octavo::tests::SqlFixture;

namespace {

namespace json = boost::json;

std::string container_of(std::string_view policy) {
  return R"({"indexing_policy":)" + std::string(policy) + "}";
}

constexpr std::string_view all_paths = R"({"includedPaths":[{"path":"/*"}]})";
constexpr std::string_view no_paths = R"({"indexingMode":"none"})";

partitioning::CreateDatabaseOptions equality_container(std::string_view policy, std::uint32_t q) {
  partitioning::CreateDatabaseOptions options;
  options.partitioned = true;
  options.q = q;
  options.definition = container_of(policy);
  return options;
}

// Groups of strings that are equal in the collation, and others that look like them.
const std::vector<std::string>& texts() {
  static const std::vector<std::string> all{
      "u7", "u7\xe2\x80\x8b", "u\xc2\xad\x37", "\x01u7", "u7\x7f", std::string("u\0007", 3), "U7", "u70", "u",
      // é composed and decomposed; the Kelvin sign and a Greek question mark, which are K and a semicolon.
      "\xc3\xa9", "e\xcc\x81", "e", "K", "\xe2\x84\xaa", ";", "\xcd\xbe", "a;b",
      "a\xcd\xbe"
      "b",
      "", "\xe2\x80\x8b", "\x01", " ", "\\", "\\\xe2\x80\x8b", "\xe4\xb8\xad", std::string(300, 'l'),
      std::string(300, 'l') + "\xe2\x80\x8b", "\x02" + std::string(300, 'l'), std::string(300, 'l') + "m",
      std::string(300, 'l') + "m\xe2\x80\x8b"};
  return all;
}

json::value value_at(std::size_t number) {
  const std::size_t kinds = texts().size() + 4;
  const std::size_t kind = number % kinds;
  if (kind < texts().size()) return json::value(texts()[kind]);
  switch (kind - texts().size()) {
    case 0:
      return json::value(7);
    case 1:
      return json::value(nullptr);
    case 2:
      return json::array{"u7"};
    default:
      return json::object{{"u7", "u7"}};
  }
}

std::vector<std::string> found_by(SqlFixture& fixture, const json::object& selector, const std::string& partition) {
  const json::object request{{"selector", selector}, {"limit", 10'000}};
  auto ids = ids_of(fixture.find(json::serialize(request), partition));
  std::ranges::sort(ids);
  return ids;
}

std::uint64_t examined(const json::object& reply, std::string_view what) {
  return reply.at("execution_stats").at(what).to_number<std::uint64_t>();
}

std::shared_ptr<const AutomaticIndex> index_from_before() {
  auto stored = AutomaticIndex::of_everything(StringOrder::bytes)->to_json();
  stored.erase("unplain");
  return AutomaticIndex::from_json(stored);
}

IndexBounds bounds_at(const AutomaticIndexPtr& automatic, std::string_view selector) {
  return bounds_for(*automatic_path_definition(automatic, *FieldPath::parse("v")),
                    *Selector::parse(json::parse(selector)), {});
}

}  // namespace

TEST_CASE("plain strings are equal in the collation only if they are the same") {
  std::mt19937 random(3);
  std::set<std::string> strings{""};
  for (char first = ' '; first < '\x7f'; ++first) {
    strings.emplace(1, first);
    for (char second = ' '; second < '\x7f'; ++second) strings.insert({first, second});
  }
  for (int i = 0; i < 20'000; ++i) {
    std::string text(random() % 12, ' ');
    for (char& c : text) c = static_cast<char>(' ' + random() % 95);
    strings.insert(text);
  }
  std::set<std::string> keys;
  for (const std::string& text : strings) {
    REQUIRE(is_plain_text(text));
    std::string key;
    AutomaticIndex::append_unplain_key(key, text);
    keys.insert(key);
  }
  CHECK(keys.size() == strings.size());
}

TEST_CASE("strings that _find takes for equal are found by an index by bytes") {
  const std::uint32_t q = GENERATE(1U, 3U);
  SqlFixture indexed(equality_container(all_paths, q));
  SqlFixture scanned(equality_container(no_paths, q));
  std::size_t number = 0;
  // A large logical partition, and small ones.
  for (int i = 0; i < 240; ++i) {
    const std::string id = (i < 160 ? "big:" : "p" + std::to_string(i % 7) + ":") + std::to_string(i);
    const std::string body = json::serialize(json::object{{"v", value_at(number)}, {"w", value_at(number / 3)}});
    ++number;
    for (SqlFixture* fixture : {&indexed, &scanned}) fixture->put(id, body);
  }
  indexed.wait_for_automatic_index();
  std::mt19937 random(q);
  const auto any_text = [&] { return texts()[random() % texts().size()]; };
  std::vector<json::object> selectors;
  for (const std::string& text : texts()) {
    selectors.push_back({{"v", text}});
    selectors.push_back({{"v", {{"$in", json::array{text, any_text(), 7}}}}});
    selectors.push_back({{"v", text}, {"w", any_text()}});
    selectors.push_back({{"v", text}, {"w", {{"$in", json::array{any_text(), any_text()}}}}});
    selectors.push_back({{"$or", json::array{json::object{{"v", text}}, json::object{{"w", any_text()}}}}});
    selectors.push_back({{"$or", json::array{json::object{{"v", text}}, json::object{{"v", {{"$gte", "u"}}}}}}});
    selectors.push_back({{"$or", json::array{json::object{{"v", text}}, json::object{{"v", {{"$lt", 9}}}}}}});
    selectors.push_back({{"v", {{"$gte", text}, {"$lte", any_text()}}}});
  }
  // The most texts that get ranges of their own, more than that, and more than there are values.
  for (const int count : {200, 300, 600}) {
    json::array many{"u7", "K", "", 7, json::array{"u7"}};
    for (int i = 0; i < count; ++i) many.emplace_back("n" + std::to_string(i));
    selectors.push_back({{"v", {{"$in", many}}}});
  }
  for (std::size_t i = 0; i < selectors.size(); i += octavo::tests::one_round_in) {
    const json::object& selector = selectors[i];
    for (const std::string partition : {"", "big", "p3"}) {
      CAPTURE(json::serialize(selector), partition);
      const auto expected = found_by(scanned, selector, partition);
      REQUIRE(found_by(indexed, selector, partition) == expected);
      auto by_pages = indexed.find_all_pages({{"selector", selector}}, 3, partition);
      std::ranges::sort(by_pages);
      REQUIRE(by_pages == expected);
      const json::object by_id{{"selector", selector}, {"sort", json::array{"_id"}}, {"limit", 20}};
      REQUIRE(ids_of(indexed.find(json::serialize(by_id), partition)) ==
              ids_of(scanned.find(json::serialize(by_id), partition)));
    }
  }
  CHECK(indexed.index_problems() == std::vector<std::string>{});
}

TEST_CASE("an equal string is found without reading the others") {
  SqlFixture fixture(equality_container(all_paths, GENERATE(1U, 3U)));
  for (int i = 0; i < 1'200; ++i) {
    // One in a hundred has the same name otherwise spelled.
    const std::string end = i % 100 == 99 ? "\xe2\x80\x8b" : "";
    fixture.put("p" + std::to_string(i % 500) + ":" + std::to_string(i),
                json::serialize(json::object{{"user", "u" + std::to_string(i % 50) + end},
                                             {"kind", i % 2 == 0 ? "post" : "like"},
                                             {"at", "t" + std::to_string(i % 40)}}));
  }
  fixture.wait_for_automatic_index();
  const auto ask = [&](std::string_view selector, std::size_t documents, std::uint64_t keys_max) {
    CAPTURE(selector);
    const auto reply =
        fixture.find(R"({"limit":1000,"execution_stats":true,"selector":)" + std::string(selector) + "}");
    CHECK(ids_of(reply).size() == documents);
    CHECK(examined(reply, "total_docs_examined") == documents);
    CHECK(examined(reply, "total_keys_examined") <= keys_max);
  };
  ask(R"({"user":"u7"})", 24, 24);
  ask(R"({"user":"u49"})", 24, 24);
  ask(R"({"user":{"$in":["u7","u49","missing"]}})", 48, 48);
  ask(R"({"user":"missing"})", 0, 0);
  // These walks leap from one value to the other.
  ask(R"({"user":"u7","at":"t7"})", 6, 60);
  ask(R"({"user":"u49","kind":"like","at":"t9"})", 6, 90);
  const auto explained = fixture.explain(R"({"selector":{"user":"u7"}})");
  REQUIRE(explained->plans[0].branches.size() == 1);
  const Branch& branch = explained->plans[0].branches[0];
  REQUIRE(branch.index);
  CHECK(branch.index->definition->name == "/user");
  CHECK(branch.bounds.ranges.size() == 2);
  CHECK(branch.recheck);
}

TEST_CASE("entries of equal strings are no entries of values") {
  SqlFixture fixture(equality_container(all_paths, 1));
  SqlFixture bare(equality_container(no_paths, 1));
  for (std::size_t i = 0; i < texts().size(); ++i) {
    // Cut keys would not be in order.
    if (texts()[i].size() > 256) continue;
    const std::string body = json::serialize(json::object{{"v", texts()[i]}});
    for (SqlFixture* each : {&fixture, &bare}) each->put("p:" + std::to_string(i), body);
  }
  fixture.wait_for_automatic_index();
  for (const std::string_view query :
       {"SELECT VALUE c.v FROM c ORDER BY c.v", "SELECT VALUE c.v FROM c ORDER BY c.v DESC",
        "SELECT VALUE COUNT(1) FROM c WHERE c.v > 'a'", "SELECT VALUE COUNT(1) FROM c WHERE IS_STRING(c.v)",
        "SELECT VALUE COUNT(1) FROM c WHERE IS_DEFINED(c.v)", "SELECT VALUE COUNT(1) FROM c WHERE c.v = 'u7'",
        "SELECT VALUE COUNT(1) FROM c WHERE c.v = 'u7' OR c.v = '\xe2\x80\x8b'",
        "SELECT VALUE COUNT(1) FROM c WHERE c.v > 5"}) {
    CAPTURE(query);
    CHECK(fixture.ask(query) == bare.ask(query));
    CHECK(fixture.ask_by_pages(query, 2) == bare.ask(query));
  }
  CHECK(fixture.ask("SELECT TOP 1 VALUE c.v FROM c ORDER BY c.v") == R"([""])");
  CHECK(fixture.used_index());
  // Nothing but values.
  CHECK(bounds_at(AutomaticIndex::of_everything(StringOrder::bytes), R"({"v":{"$gt":null}})").ranges.back().end ==
        std::string(1, AutomaticIndex::unplain_tag));
}

TEST_CASE("the keys of a value are those of its entries") {
  const auto automatic = GENERATE(AutomaticIndex::of_everything(StringOrder::bytes),
                                  AutomaticIndex::of_everything(StringOrder::icu), index_from_before());
  const auto definition = automatic_path_definition(automatic, *FieldPath::parse("v"));
  std::string path;
  append_key_u64(path, *definition->automatic_path);
  DocumentParser parser;
  AutomaticIndex::Entries entries;
  for (std::size_t i = 0; i < texts().size() + 4; ++i) {
    const std::string body = json::serialize(json::object{{"v", value_at(i)}});
    CAPTURE(body);
    const auto root = parser.parse(body);
    REQUIRE(root);
    automatic->entries_of({*root, body, "id", {}}, entries);
    std::set<std::string> expected;
    for (std::size_t k = 0; k < entries.size(); ++k) {
      if (entries[k].starts_with(path)) expected.emplace(entries[k].substr(path.size()));
    }
    const auto keys = automatic->keys_of(find_field(*root, definition->fields[0].path).value);
    CHECK(std::set<std::string>(keys.begin(), keys.end()) == expected);
    CHECK(keys.size() == expected.size());
  }
}

TEST_CASE("the additional entry of a string is not charged") {
  SqlFixture fixture(equality_container(all_paths, 1));
  fixture.wait_for_automatic_index();
  const auto rows = [&](std::string_view id, std::string_view body) {
    return EngineFixture::put(*fixture.database, std::string(id), std::string(body)).index_rows;
  };
  CHECK(rows("p:1", R"({"v":"e","w":[1]})") == rows("p:2", "{\"v\":\"\xc3\xa9\",\"w\":[1]}"));
  CHECK(AutomaticIndex::of_everything(StringOrder::bytes)->has_unplain_entries());
  CHECK_FALSE(AutomaticIndex::of_everything(StringOrder::icu)->has_unplain_entries());
}

TEST_CASE("an index from before equal strings had entries is read as it is, and rebuilt once") {
  const auto before = index_from_before();
  const auto now = AutomaticIndex::of_everything(StringOrder::bytes);
  REQUIRE(before);
  CHECK_FALSE(before->has_unplain_entries());
  CHECK(automatic_definition(before)->identity != automatic_definition(now)->identity);
  const KeyRange all_strings{std::string("\x07\0\0", 3), std::string("\x08\0", 2)};
  CHECK(bounds_at(before, R"({"v":"u7"})").ranges == std::vector<KeyRange>{all_strings});
  CHECK(bounds_at(now, R"({"v":"u7"})").ranges.size() == 2);
  CHECK(bounds_at(now, "{\"v\":\"u7\xe2\x80\x8b\"}").ranges.size() == 1);

  // A folder as it was left: with an index in that format.
  SqlFixture fixture(equality_container(no_paths, 1));
  REQUIRE(fixture.indexes().catalog());
  json::array rest;  // so that building takes a while
  for (int i = 0; i < 40; ++i) rest.emplace_back(i);
  const std::size_t count = octavo::tests::rounds(3'000);
  for (std::size_t i = 0; i < count; ++i) {
    fixture.put("p:" + std::to_string(i), json::serialize(json::object{{"v", value_at(i)}, {"rest", rest}}));
  }
  const auto old_local = std::make_shared<LocalIndexes>(fixture.database->physical_partition(0), nullptr, "db");
  old_local->reconcile({automatic_definition(before)}, [] {});
  const auto deadline = std::chrono::steady_clock::now() + octavo::tests::patiently(std::chrono::seconds(40));
  while (old_local->automatic_progress_percent(automatic_definition(before)->identity) < 100) {
    if (std::chrono::steady_clock::now() > deadline) FAIL("the index from before is not built");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  old_local->shut_down();

  const json::object selector{{"v", "u7"}};
  const auto expected = found_by(fixture, selector, "");
  CHECK(expected.size() > count / (texts().size() + 4) * 5);
  REQUIRE(fixture.database->set_definition(container_of(all_paths)));
  // Whichever serves.
  bool was_old = false;
  for (bool is_new = false; !is_new;) {
    if (std::chrono::steady_clock::now() > deadline) FAIL("the index is not rebuilt");
    const auto catalog = fixture.indexes().catalog();
    REQUIRE(catalog);
    if ((*catalog)->automatic) {
      is_new = (*catalog)->automatic->definition->automatic->has_unplain_entries();
      was_old = was_old || !is_new;
    }
    REQUIRE(found_by(fixture, selector, "") == expected);
  }
  CHECK(was_old);
  const auto reply = fixture.find(R"({"limit":10000,"execution_stats":true,"selector":{"v":"u7"}})");
  CHECK(examined(reply, "total_keys_examined") == expected.size());
  CHECK(fixture.index_problems() == std::vector<std::string>{});
  fixture.restart();
  CHECK(found_by(fixture, selector, "") == expected);
  CHECK(fixture.indexes().automatic_progress_percent() == 100);
}

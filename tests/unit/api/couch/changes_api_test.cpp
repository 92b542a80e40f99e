#include <set>
#include <string>
#include <thread>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <catch2/catch.hpp>

#include "support/dropped_tombstones.h"
#include "support/engine_fixture.h"
#include "support/patience.h"
#include "unit/api/couch/couch_api_fixture.h"

using octavo::tests::CouchApiFixture;
using octavo::tests::patiently;
using octavo::tests::Received;
using octavo::tests::text;

namespace {

std::string ids(const Received& received) {
  std::string joined;
  const auto reply = received.json();
  for (const auto& row : reply.at("results").as_array()) {
    if (!joined.empty()) joined += ' ';
    joined += text(row, "id");
  }
  return joined;
}

void make_edited(CouchApiFixture& couch) {
  couch.put("/db?q=3");
  for (const auto* id : {"a", "b", "c"}) couch.put("/db/" + std::string(id), R"({"kind":"x"})");
  couch.put("/db/d", R"({"kind":"y"})");
}

std::vector<boost::json::value> lines(const std::string& body) {
  std::vector<boost::json::value> parsed;
  std::size_t start = 0;
  while (start < body.size()) {
    const auto end = body.find('\n', start);
    if (end > start) parsed.push_back(boost::json::parse(body.substr(start, end - start)));
    start = end + 1;
  }
  return parsed;
}

/// Writes the documents with these numbers, on top of their last revisions.
void write_numbered(CouchApiFixture& couch, const std::string& prefix, int begin, int end) {
  std::vector<octavo::storage::DocumentWrite> writes;
  for (int i = begin; i < end; ++i) {
    octavo::storage::DocumentWrite write;
    write.id = prefix + std::to_string(i);
    write.base = octavo::storage::WriteBase::any_winner;
    write.body = "{}";
    writes.push_back(std::move(write));
  }
  const auto database = couch.engine().find_database("db");
  for (const auto& result : octavo::tests::run_task(database->write(std::move(writes)))) REQUIRE(result);
}

std::int64_t number_of(const std::string& sequence) {
  return std::stoll(sequence);
}

// Runs `then` after the other coroutines of the API had their turn.
void later(CouchApiFixture& couch, std::chrono::milliseconds delay, std::function<void()> then) {
  auto timer = std::make_shared<boost::asio::steady_timer>(couch.io(), delay);
  timer->async_wait([timer, then = std::move(then)](const boost::system::error_code&) { then(); });
}

// Runs `then` as soon as the condition holds.
void when(CouchApiFixture& couch, std::function<bool()> condition, std::function<void()> then) {
  if (condition()) return then();
  later(couch, std::chrono::milliseconds(1),
        [&couch, condition = std::move(condition), then = std::move(then)]() mutable {
          when(couch, std::move(condition), std::move(then));
        });
}

}  // namespace

TEST_CASE("the feed has CouchDB's bytes") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto rev = text(couch.put("/db/a", "{}").json(), "rev");
  const auto seq = text(couch.get("/db").json(), "update_seq");
  CHECK(couch.get("/db/_changes").body == "{\"results\":[\n{\"seq\":\"" + seq +
                                              "\",\"id\":\"a\",\"changes\":[{\"rev\":\"" + rev +
                                              "\"}]}\n],\n\"last_seq\":\"" + seq + "\",\"pending\":0}\n");
}

TEST_CASE("the feed shows each document once, at its newest change") {
  CouchApiFixture couch;
  make_edited(couch);
  const auto rev = text(couch.get("/db/a").json(), "_rev");
  couch.put("/db/a?rev=" + rev, "{}");
  CHECK(ids(couch.get("/db/_changes")) == "b c d a");
}

TEST_CASE("a deletion is a row marked deleted") {
  CouchApiFixture couch;
  make_edited(couch);
  couch.del("/db/b?rev=" + text(couch.get("/db/b").json(), "_rev"));
  const auto got = couch.get("/db/_changes?include_docs=true");
  CHECK(ids(got) == "a c d b");
  const auto row = got.json().at("results").as_array()[3];
  CHECK(row.at("deleted") == true);
  CHECK(row.at("doc").at("_deleted") == true);
}

TEST_CASE("limit stops the feed and pending tells what is left") {
  CouchApiFixture couch;
  make_edited(couch);
  const auto got = couch.get("/db/_changes?limit=1").json();
  CHECK(got.at("results").as_array().size() == 1);
  CHECK(got.at("pending") == 3);
  const auto rest = couch.get("/db/_changes?since=" + text(got, "last_seq"));
  CHECK(ids(rest) == "b c d");
  CHECK(rest.json().at("pending") == 0);
  const auto middle = couch.get("/db/_changes?limit=1&since=" + text(got, "last_seq"));
  CHECK(middle.json().at("pending") == 2);
}

TEST_CASE("limit=0 tells only where the feed is") {
  CouchApiFixture couch;
  make_edited(couch);
  const auto got = couch.get("/db/_changes?limit=0").json();
  CHECK(got.at("results").as_array().empty());
  CHECK(got.at("pending") == 4);
}

TEST_CASE("a normal feed has an entity tag until something is written or purged") {
  CouchApiFixture couch;
  make_edited(couch);
  const auto tag = couch.get("/db/_changes").header("ETag").value();
  const auto same = couch.get("/db/_changes", {{"If-None-Match", "\"other\", W/" + tag}});
  CHECK(same.status == 304);
  CHECK(same.body.empty());
  CHECK(same.header("ETag") == tag);
  CHECK(couch.send("HEAD", "/db/_changes", "", {{"If-None-Match", tag}}).status == 304);

  couch.put("/db/e", "{}");
  const auto written = couch.get("/db/_changes", {{"If-None-Match", tag}});
  CHECK(written.status == 200);
  CHECK(ids(written) == "a b c d e");
  const auto newer = written.header("ETag").value();
  CHECK(newer != tag);
  couch.post("/db/_purge", R"({"e":[")" + text(couch.get("/db/e").json(), "_rev") + R"("]})");
  CHECK(couch.get("/db/_changes", {{"If-None-Match", newer}}).status == 200);
}

TEST_CASE("feeds that wait, and feeds with a body, have no entity tag") {
  CouchApiFixture couch;
  make_edited(couch);
  CHECK_FALSE(couch.get("/db/_changes?feed=longpoll").header("ETag").has_value());
  CHECK_FALSE(couch.post("/db/_changes?filter=_selector", R"({"selector":{}})").header("ETag").has_value());
  CHECK(couch.get("/db/_changes?filter=_design").header("ETag").has_value());
}

TEST_CASE("a reader that has missed deletions whose tombstones were dropped is told to begin again") {
  CouchApiFixture couch;
  make_edited(couch);
  const std::string early = text(couch.get("/db/_changes").json(), "last_seq");
  const std::string rev = text(couch.get("/db/a").json(), "_rev");
  REQUIRE(couch.del("/db/a?rev=" + rev).status == 200);
  CHECK(ids(couch.get("/db/_changes?since=" + early)) == "a");
  const auto database = couch.engine().find_database("db");
  database->expect_dropped_tombstones();
  const auto tag = couch.get("/db/_changes").header("ETag").value();
  REQUIRE(octavo::tests::drop_tombstones(*database) == 1);
  CHECK(couch.get("/db/_changes", {{"If-None-Match", tag}}).status == 200);
  couch.put("/db/e", "{}");

  for (const std::string suffix :
       {"", "&limit=1", "&feed=longpoll", "&feed=continuous&timeout=1", "&descending=true"}) {
    const auto refused = couch.get("/db/_changes?since=" + early + suffix);
    CHECK(refused.status == 400);
    CHECK(text(refused.json(), "error") == "tombstones_gone");
    CHECK(text(refused.json(), "reason").find("begin again from 0") != std::string::npos);
  }
  const auto named = couch.post("/db/_changes?filter=_doc_ids&since=" + early, R"({"doc_ids":["a"]})");
  CHECK(text(named.json(), "error") == "tombstones_gone");
  // A reader with a sequence of another past may have seen the document.
  CHECK(couch.get("/db/_changes?since=1-00000000000000000000000000000000").status == 400);
  CHECK(ids(couch.get("/db/_changes")) == "b c d e");
  CHECK(ids(couch.get("/db/_changes?since=5")) == "e");  // after the deletion
}

TEST_CASE("a reader that began at 0 continues by pages although tombstones are dropped, until it would miss one") {
  CouchApiFixture couch;
  make_edited(couch);
  const std::string rev = text(couch.get("/db/a").json(), "_rev");
  REQUIRE(couch.del("/db/a?rev=" + rev).status == 200);
  const auto database = couch.engine().find_database("db");
  CHECK(text(couch.get("/db/_changes?limit=1").json(), "last_seq").find('.') == std::string::npos);
  database->expect_dropped_tombstones();
  auto page = couch.get("/db/_changes?limit=1").json();
  CHECK(text(page, "last_seq").ends_with(".5"));
  CHECK(text(page.at("results").as_array()[0], "seq") == text(page, "last_seq"));
  REQUIRE(octavo::tests::drop_tombstones(*database) == 1);
  std::string seen = text(page.at("results").as_array()[0], "id");
  for (int i = 0; i < 2; ++i) {
    const auto next = couch.get("/db/_changes?limit=1&since=" + text(page, "last_seq"));
    REQUIRE(next.status == 200);
    page = next.json();
    seen += ' ' + text(page.at("results").as_array()[0], "id");
  }
  CHECK(seen == "b c d");

  const auto behind = text(couch.get("/db/_changes?limit=1").json(), "last_seq");
  const std::string rev_b = text(couch.get("/db/b").json(), "_rev");
  REQUIRE(couch.del("/db/b?rev=" + rev_b).status == 200);
  REQUIRE(octavo::tests::drop_tombstones(*database) == 1);
  CHECK(couch.get("/db/_changes?since=" + behind).status == 400);  // it has read b
  const auto end = text(couch.get("/db/_changes").json(), "last_seq");
  CHECK(end.find('.') == std::string::npos);
}

TEST_CASE("since=now is after everything") {
  CouchApiFixture couch;
  make_edited(couch);
  const auto got = couch.get("/db/_changes?since=now");
  CHECK(ids(got).empty());
  CHECK(text(got.json(), "last_seq") == text(couch.get("/db").json(), "update_seq"));
}

TEST_CASE("a sequence of another database starts from the beginning") {
  CouchApiFixture couch;
  make_edited(couch);
  CHECK(ids(couch.get("/db/_changes?since=3-00000000000000000000000000000000")) == "a b c d");
}

TEST_CASE("a malformed sequence is refused") {
  CouchApiFixture couch;
  make_edited(couch);
  CHECK(couch.get("/db/_changes?since=xyz").status == 400);
}

TEST_CASE("descending walks from the newest down") {
  CouchApiFixture couch;
  make_edited(couch);
  CHECK(ids(couch.get("/db/_changes?descending=true&limit=2")) == "d c");
}

TEST_CASE("seq_interval leaves sequences out") {
  CouchApiFixture couch;
  make_edited(couch);
  const auto rows = couch.get("/db/_changes?seq_interval=2").json().at("results").as_array();
  CHECK(rows[0].at("seq").is_string());
  CHECK(rows[1].at("seq").is_null());
  CHECK(rows[2].at("seq").is_string());
}

TEST_CASE("style=all_docs shows all leaves of a conflict") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a?new_edits=false", R"({"_rev":"1-aa"})");
  couch.put("/db/a?new_edits=false", R"({"_rev":"1-bb"})");
  CHECK(couch.get("/db/_changes?style=all_docs").json().at("results").as_array()[0].at("changes").as_array().size() ==
        2);
  CHECK(couch.get("/db/_changes").json().at("results").as_array()[0].at("changes").as_array().size() == 1);
}

TEST_CASE("_doc_ids keeps the named documents, by GET and by POST") {
  CouchApiFixture couch;
  make_edited(couch);
  CHECK(ids(couch.get(R"(/db/_changes?filter=_doc_ids&doc_ids=["c","a","zz"])")) == "a c");
  CHECK(ids(couch.post("/db/_changes?filter=_doc_ids&descending=true", R"({"doc_ids":["c","a"]})")) == "c a");
  CHECK(couch.get("/db/_changes?filter=_doc_ids").status == 400);
}

TEST_CASE("a body of a feed must be a JSON object, or empty") {
  CouchApiFixture couch;
  make_edited(couch);
  for (const auto* body : {"[]", "5", "{", "null", "{\"a\":}"}) CHECK(couch.post("/db/_changes", body).status == 400);
  for (const auto* body : {"", "{}", "{\"other\":1}"}) CHECK(couch.post("/db/_changes", body).status == 200);
}

TEST_CASE("_selector keeps what matches") {
  CouchApiFixture couch;
  make_edited(couch);
  CHECK(ids(couch.post("/db/_changes?filter=_selector", R"({"selector":{"kind":"y"}})")) == "d");
  CHECK(ids(couch.post("/db/_changes?filter=_selector", R"({"selector":{"_id":{"$gt":"b"}}})")) == "c d");
}

TEST_CASE("_selector with fields cuts the documents") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a", R"({"n":1,"o":{"x":1.0,"y":2},"s":"t"})");
  const auto document = [&](const std::string& fields) {
    const auto feed =
        couch.post("/db/_changes?filter=_selector&include_docs=true", R"({"selector":{},"fields":)" + fields + "}");
    return boost::json::serialize(feed.json().at("results").at(0).at("doc"));
  };
  CHECK(document(R"(["_id","o.y"])") == R"({"_id":"a","o":{"y":2}})");
  CHECK(document(R"(["missing"])") == "{}");
  CHECK(document("[]").find("\"s\":\"t\"") != std::string::npos);
  CHECK(couch.post("/db/_changes?filter=_selector", R"({"selector":{},"fields":"n"})").status == 400);
  CHECK(couch.post("/db/_changes?filter=_selector", R"({"selector":{},"fields":[1]})").status == 400);
}

TEST_CASE("large filters of a feed work like small ones") {
  CouchApiFixture couch;
  make_edited(couch);
  std::string others;
  for (int i = 0; i < 20'000; ++i) others += ",\"other" + std::to_string(i) + "\"";
  CHECK(ids(couch.post("/db/_changes?filter=_doc_ids", R"({"doc_ids":["a")" + others + "]}")) == "a");
  const std::string selector = R"({"selector":{"kind":{"$in":["y")" + others + "]}}}";
  CHECK(ids(couch.post("/db/_changes?filter=_selector", selector)) == "d");
}

TEST_CASE("_design keeps design documents") {
  CouchApiFixture couch;
  make_edited(couch);
  couch.put("/db/_design/x", "{}");
  CHECK(ids(couch.get("/db/_changes?filter=_design")) == "_design/x");
}

TEST_CASE("a filter of a design document that is not there") {
  CouchApiFixture couch;
  make_edited(couch);
  CHECK(couch.get("/db/_changes?filter=x/y").status == 404);
  CHECK(couch.get("/db/_changes?filter=_nope").status == 400);
  CHECK(couch.get("/db/_changes?filter=_view").status == 400);
}

TEST_CASE("a partition has a feed of its own") {
  CouchApiFixture couch;
  couch.put("/db?partitioned=true&q=4");
  for (const auto* id : {"p:1", "q:1", "p:2", "q:2"}) couch.put("/db/" + std::string(id), "{}");
  CHECK(ids(couch.get("/db/_partition/p/_changes")) == "p:1 p:2");
  CHECK(couch.get("/db/_partition/p/_changes?limit=1").json().at("pending") == 1);
}

TEST_CASE("longpoll answers at once when there is something") {
  CouchApiFixture couch;
  make_edited(couch);
  CHECK(ids(couch.get("/db/_changes?feed=longpoll&limit=2")) == "a b");
}

TEST_CASE("longpoll wakes when something is written") {
  CouchApiFixture couch;
  make_edited(couch);
  Received feed;
  Received put;
  couch.start(feed, "GET", "/db/_changes?feed=longpoll&since=now&timeout=10000", "");
  later(couch, std::chrono::milliseconds(20), [&] { couch.start(put, "PUT", "/db/new", "{}"); });
  couch.run();
  CHECK(put.status == 201);
  CHECK(ids(feed) == "new");
}

TEST_CASE("longpoll gives up after its timeout with an empty list") {
  CouchApiFixture couch;
  make_edited(couch);
  const auto got = couch.get("/db/_changes?feed=longpoll&since=now&timeout=30");
  CHECK(ids(got).empty());
  CHECK(got.json().at("pending") == 0);
}

TEST_CASE("a continuous feed is a line per row and ends with the last sequence") {
  CouchApiFixture couch;
  make_edited(couch);
  const auto got = lines(couch.get("/db/_changes?feed=continuous&timeout=20").body);
  REQUIRE(got.size() == 5);
  CHECK(got[0].at("id") == "a");
  CHECK(got[4].at("last_seq").is_string());
}

TEST_CASE("a continuous feed follows what is written and stops at its limit") {
  CouchApiFixture couch;
  make_edited(couch);
  Received feed;
  Received first;
  Received second;
  couch.start(feed, "GET", "/db/_changes?feed=continuous&since=now&limit=2&heartbeat=10", "");
  // Heartbeats come while there is nothing.
  when(couch, [&] { return feed.body.starts_with("\n"); }, [&] { couch.start(first, "PUT", "/db/x", "{}"); });
  when(couch, [&] { return first.status == 201; }, [&] { couch.start(second, "PUT", "/db/y", "{}"); });
  couch.run();
  const auto rows = lines(feed.body);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].at("id") == "x");
  CHECK(rows[1].at("id") == "y");
}

TEST_CASE("a continuous feed ends when its database is deleted") {
  CouchApiFixture couch;
  make_edited(couch);
  Received feed;
  Received removed;
  couch.start(feed, "GET", "/db/_changes?feed=continuous&since=now&heartbeat=10000", "");
  later(couch, std::chrono::milliseconds(20), [&] { couch.start(removed, "DELETE", "/db", ""); });
  couch.run();
  CHECK(removed.status == 200);
  CHECK(feed.streamed);
}

TEST_CASE("a follower whose client goes away ends at once") {
  CouchApiFixture couch;
  make_edited(couch);
  Received feed;
  couch.start(feed, "GET", "/db/_changes?feed=continuous&since=now", "");
  later(couch, std::chrono::milliseconds(20), [&] { couch.hang_up(); });
  const auto started = std::chrono::steady_clock::now();
  couch.run();
  CHECK(std::chrono::steady_clock::now() - started < patiently(std::chrono::seconds(10)));
  CHECK(feed.body.empty());
}

TEST_CASE("an eventsource feed sends data and id lines") {
  CouchApiFixture couch;
  make_edited(couch);
  const auto got = couch.get("/db/_changes?feed=eventsource&limit=1");
  CHECK(got.body.starts_with("data: {\"seq\":\""));
  CHECK(got.body.find("}\nid: \"1-") != std::string::npos);
  CHECK(got.body.ends_with("\n\n"));
}

TEST_CASE("an eventsource feed resumes from Last-Event-ID") {
  CouchApiFixture couch;
  make_edited(couch);
  const auto seq = text(couch.get("/db/_changes?limit=3").json(), "last_seq");
  const auto got = couch.get("/db/_changes?feed=eventsource&since=0&limit=1", {{"Last-Event-ID", "\"" + seq + "\""}});
  CHECK(got.body.find("\"id\":\"d\"") != std::string::npos);
}

TEST_CASE("an unknown feed type is refused") {
  CouchApiFixture couch;
  make_edited(couch);
  CHECK(text(couch.get("/db/_changes?feed=smoke").json(), "reason") ==
        "Supported `feed` types: normal, continuous, live, longpoll, eventsource");
}

TEST_CASE("a large feed is streamed whole") {
  CouchApiFixture couch;
  couch.put("/db?q=2");
  std::string docs;
  for (int i = 0; i < 3000; ++i) docs += (i ? "," : "") + ("{\"_id\":\"d" + std::to_string(i) + "\"}");
  couch.post("/db/_bulk_docs", "{\"docs\":[" + docs + "]}");
  const auto got = couch.get("/db/_changes?include_docs=true");
  CHECK(got.streamed);
  CHECK(got.json().at("results").as_array().size() == 3000);
  CHECK(got.json().at("pending") == 0);
}

TEST_CASE("a feed ends although documents are added faster than it is read") {
  CouchApiFixture couch;
  couch.put("/db");
  write_numbered(couch, "d", 0, 3000);
  int pieces = 0;
  couch.after_each_piece = [&] {
    if (++pieces < 50) write_numbered(couch, "w", 1000 * pieces, 1000 * (pieces + 1));
  };
  const auto feed = couch.get("/db/_changes").json();
  CHECK(pieces < 30);
  const auto& rows = feed.at("results").as_array();
  CHECK(rows.size() >= 3000);
  CHECK(feed.at("pending") == 0);
  CHECK(number_of(text(feed, "last_seq")) < 3000 + 1000 * pieces);
  std::int64_t last = 0;
  for (const auto& row : rows) {
    const auto number = number_of(text(row, "seq"));
    CHECK(number > last);
    last = number;
  }
}

TEST_CASE("a feed that ends shows documents that are written again and again before it reaches them") {
  CouchApiFixture couch;
  couch.put("/db");
  write_numbered(couch, "d", 0, 3000);
  int pieces = 0;
  couch.after_each_piece = [&] {
    if (++pieces < 100) write_numbered(couch, "d", 1500, 3000);
  };
  const auto feed = couch.get("/db/_changes").json();
  CHECK(pieces < 60);
  std::set<std::string> seen;
  std::int64_t last = 0;
  for (const auto& row : feed.at("results").as_array()) {
    seen.insert(text(row, "id"));
    const auto number = number_of(text(row, "seq"));
    CHECK(number >= last);
    last = number;
  }
  CHECK(seen.size() == 3000);
  CHECK(number_of(text(feed, "last_seq")) >= last);
}

TEST_CASE("_db_updates tells of databases that came and went") {
  CouchApiFixture couch;
  couch.put("/one");
  couch.put("/two");
  couch.del("/one");
  const auto rows = couch.get("/_db_updates").json().at("results").as_array();
  REQUIRE(rows.size() >= 2);
  CHECK(rows.back().at("db_name") == "one");
  CHECK(rows.back().at("type") == "deleted");
}

TEST_CASE("a follower may go away just when it is woken for nothing") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a", "{}");
  const auto database = *couch.engine().open_database("db");
  Received feed;
  couch.start(feed, "GET", "/db/_changes?feed=continuous&heartbeat=60000&since=now", "");
  later(couch, std::chrono::milliseconds(50), [&] {
    // A conflict: committed, but nothing new. It wakes the follower once this thread is free, and then the client goes.
    octavo::storage::DocumentWrite write;
    write.id = "a";
    write.body = "{}";
    CHECK(database->write_unacknowledged(database->target_of("a"), std::move(write)));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    boost::asio::post(couch.io(), [&] { couch.hang_up(); });
  });
  couch.run();
  CHECK(feed.streamed);
  CHECK(!feed.broken);
}

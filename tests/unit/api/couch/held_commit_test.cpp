// A commit of one physical partition that takes long: what the others acknowledged meanwhile is seen all the same.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <catch2/catch.hpp>

#include "api/models/database_properties.h"
#include "query/database/database_services.h"
#include "support/patience.h"
#include "unit/api/couch/couch_api_fixture.h"

using namespace octavo;
using octavo::tests::CouchApiFixture;
using octavo::tests::patiently;
using octavo::tests::Received;
using octavo::tests::text;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

/// Holds up the commits of the first physical partition while it is told to.
class HeldCommits final : public storage::FaultInjector {
 public:
  int before(storage::StorageCall call, const std::filesystem::path& folder) override {
    return call == storage::StorageCall::commit ? wait(folder, false) : 0;
  }
  int after_commit(const std::filesystem::path& folder) override { return wait(folder, true); }

  /// `visible`: readers see what is committed, but it is not acknowledged and not in the feed yet.
  void hold(bool visible = false) {
    const std::lock_guard lock(mutex_);
    hold_ = true;
    visible_ = visible;
    held_ = false;
  }
  void wait_until_held() {
    std::unique_lock lock(mutex_);
    REQUIRE(changed_.wait_for(lock, std::chrono::seconds(20), [this] { return held_; }));
  }
  /// `code`: what the commit then fails with.
  void release(int code = 0) {
    const std::lock_guard lock(mutex_);
    code_ = code;
    hold_ = false;
    changed_.notify_all();
  }

 private:
  int wait(const std::filesystem::path& folder, bool visible) {
    std::unique_lock lock(mutex_);
    if (!hold_ || visible != visible_ || folder.filename() != "partition-0") return 0;
    held_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !hold_; });
    return code_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool hold_ = false;
  bool visible_ = false;
  bool held_ = false;
  int code_ = 0;
};

/// A database of two physical partitions: while a write to the first is being committed, `written` is acknowledged by
/// the second.
struct Subject {
  Subject()
      : couch({}, {.extensions = query::DatabaseServices::factory(nullptr, api::read_definition), .faults = &commits}) {
    REQUIRE(couch.put("/db?q=2").status == 201);
    const auto database = *couch.engine().open_database("db");
    for (int i = 0; slow.empty() || written.empty(); ++i) {
      const std::string id = "d" + std::to_string(i);
      (database->locate_document(id) == 0 ? slow : written) = id;
    }
  }
  ~Subject() { commits.release(); }

  void write() {
    commits.hold();
    REQUIRE(couch.put("/db/" + slow + "?batch=ok", R"({"n":1})").status == 202);
    commits.wait_until_held();
    REQUIRE(couch.put("/db/" + written, R"({"n":1})").status == 201);
  }
  /// A request that comes while the commit is held, which then continues.
  Received send(std::string_view method, std::string_view target, std::string_view body = "", int code = 0) {
    std::jthread releaser([&] {
      std::this_thread::sleep_for(milliseconds(50));
      commits.release(code);
    });
    return method == "POST" ? couch.post(target, body) : couch.send(method, target, body);
  }

  HeldCommits commits;
  CouchApiFixture couch;
  std::string slow;
  std::string written;
};

bool lists(const Received& received, const std::string& id) {
  CAPTURE(received.body);
  const auto reply = received.json();
  bool found = false;
  for (const auto& row : reply.at("results").as_array()) found = found || text(row, "id") == id;
  return found;
}

}  // namespace

TEST_CASE("a feed that is read after a write was acknowledged shows it, whatever else is being committed") {
  Subject subject;
  subject.write();
  SECTION("as it is") {
    CHECK(lists(subject.send("GET", "/db/_changes"), subject.written));
  }
  SECTION("backwards") {
    CHECK(lists(subject.send("GET", "/db/_changes?descending=true"), subject.written));
  }
  SECTION("of named documents") {
    const auto body = R"({"doc_ids":[")" + subject.written + "\"]}";
    CHECK(lists(subject.send("POST", "/db/_changes?filter=_doc_ids", body), subject.written));
  }
  SECTION("by a selector") {
    CHECK(lists(subject.send("POST", "/db/_changes?filter=_selector", R"({"selector":{"n":1}})"), subject.written));
  }
  SECTION("as a long poll") {
    // It is over with the first rows, so it must not be over with older ones.
    CHECK(lists(subject.send("GET", "/db/_changes?feed=longpoll"), subject.written));
  }
}

TEST_CASE("a feed that ends shows a document that was there all the time, though it is just being written") {
  Subject subject;
  const auto rev = text(subject.couch.put("/db/" + subject.slow, "{}").json(), "rev");
  subject.commits.hold(true);
  REQUIRE(subject.couch.put("/db/" + subject.slow + "?batch=ok&rev=" + rev, R"({"n":1})").status == 202);
  subject.commits.wait_until_held();
  SECTION("as it is") {
    CHECK(lists(subject.send("GET", "/db/_changes"), subject.slow));
  }
  SECTION("of named documents") {
    const auto body = R"({"doc_ids":[")" + subject.slow + "\"]}";
    CHECK(lists(subject.send("POST", "/db/_changes?filter=_doc_ids", body), subject.slow));
  }
  SECTION("but it does not wait for ever") {
    const auto reply = subject.couch.get("/db/_changes?heartbeat=100");
    CHECK(reply.status == 200);
    CHECK(!lists(reply, subject.slow));
  }
}

TEST_CASE("a feed does not wait for a commit beyond its timeout") {
  Subject subject;
  subject.write();
  const auto reply = subject.couch.get("/db/_changes?timeout=20");
  CHECK(reply.json().at("results").as_array().empty());
  CHECK(text(reply.json(), "last_seq").starts_with("0-"));
}

TEST_CASE("a query by a global index after a write was acknowledged finds it, whatever else is being committed") {
  Subject subject;
  REQUIRE(subject.couch.post("/db/_index", R"({"index":{"fields":["n"]}})").status == 200);
  const std::string query = R"({"selector":{"n":1}})";
  REQUIRE(subject.couch.post("/db/_find", query).json().at("docs").as_array().empty());
  subject.write();
  const auto reply = subject.send("POST", "/db/_find", query).json();
  bool found = false;
  for (const auto& document : reply.at("docs").as_array()) found = found || text(document, "_id") == subject.written;
  CHECK(found);
}

TEST_CASE("a query by a global index finds a document that is just being written") {
  Subject subject;
  REQUIRE(subject.couch.post("/db/_index", R"({"index":{"fields":["n"]}})").status == 200);
  const std::string query = R"({"selector":{"n":1}})";
  REQUIRE(subject.couch.post("/db/_find", query).json().at("docs").as_array().empty());
  const auto rev = text(subject.couch.put("/db/" + subject.slow, R"({"n":1})").json(), "rev");
  subject.commits.hold(true);
  REQUIRE(subject.couch.put("/db/" + subject.slow + "?batch=ok&rev=" + rev, R"({"n":1,"again":true})").status == 202);
  subject.commits.wait_until_held();
  CHECK(subject.send("POST", "/db/_find", query).json().at("docs").as_array().size() == 1);
}

TEST_CASE("a commit that fails holds followers up no longer than one that succeeds") {
  Subject subject;
  const auto before = text(subject.couch.get("/db").json(), "update_seq");
  subject.write();
  const auto begin = steady_clock::now();
  const auto reply = subject.send("GET", "/db/_changes?feed=longpoll&timeout=20000&since=" + before, "", ENOSPC);
  CHECK(lists(reply, subject.written));
  CHECK(steady_clock::now() - begin < patiently(std::chrono::seconds(10)));
}

TEST_CASE("a commit that fails holds queries by a global index up no longer than one that succeeds") {
  Subject subject;
  REQUIRE(subject.couch.post("/db/_index", R"({"index":{"fields":["n"]}})").status == 200);
  const std::string query = R"({"selector":{"n":1}})";
  REQUIRE(subject.couch.post("/db/_find", query).json().at("docs").as_array().empty());
  subject.write();
  const auto begin = steady_clock::now();
  const auto reply = subject.send("POST", "/db/_find", query, ENOSPC).json();
  CHECK(reply.at("docs").as_array().size() == 1);
  CHECK(steady_clock::now() - begin < patiently(std::chrono::seconds(10)));
}

namespace {

/// Three databases with little room for waiting writes, which one thread writes.
struct FullQueues {
  static config::Settings settings() {
    config::Settings narrow;
    narrow.queued_bytes_max = 1'000;
    narrow.writer_threads = 1;
    return narrow;
  }
  static CouchApiFixture::Parts parts(HeldCommits& faults) {
    CouchApiFixture::Parts held;
    held.faults = &faults;
    return held;
  }
  FullQueues() {
    for (const char* name : {"/a", "/b", "/c"}) REQUIRE(couch.put(name).status == 201);
  }
  ~FullQueues() { commits.release(); }

  /// Each of them takes somewhat more than 256 bytes.
  int put(const std::string& target) { return couch.put(target + "?batch=ok", R"({"n":1})").status; }

  HeldCommits commits;
  CouchApiFixture couch{settings(), parts(commits)};
};

}  // namespace

TEST_CASE("batch=ok answers 503 for what cannot be queued, in one database and in all together") {
  FullQueues subject;
  subject.commits.hold();
  REQUIRE(subject.put("/a/held") == 202);
  subject.commits.wait_until_held();
  std::vector<std::string> accepted{"/a/held"};
  for (const char* target : {"/a/1", "/a/2", "/b/1", "/b/2"}) {
    CHECK(subject.put(target) == 202);
    accepted.emplace_back(target);
  }
  CHECK(subject.put("/a/3") == 503);  // more than half of the room
  CHECK(subject.put("/c/1") == 503);  // nothing waits there
  subject.commits.release();
  const auto deadline = steady_clock::now() + patiently(std::chrono::seconds(20));
  for (const std::string& target : accepted) {
    while (subject.couch.get(target).status != 200 && steady_clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    CHECK(subject.couch.get(target).status == 200);
  }
  CHECK(subject.couch.get("/a/3").status == 404);
  CHECK(subject.couch.get("/c/1").status == 404);
  CHECK(subject.put("/c/1") == 202);
}

TEST_CASE("a write that is committed while its database is deleted does not make followers believe that it is there") {
  Subject subject;
  subject.write();
  REQUIRE(subject.couch.del("/db").status == 200);
  subject.commits.release();
  const auto deadline = steady_clock::now() + milliseconds(300);
  while (steady_clock::now() < deadline) {
    const auto reply = subject.couch.get("/_db_updates").json();
    for (const auto& event : reply.at("results").as_array()) {
      if (text(event, "db_name") == "db") REQUIRE(text(event, "type") == "deleted");
    }
    std::this_thread::sleep_for(milliseconds(10));
  }
}

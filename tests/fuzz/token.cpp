// Bookmarks and sequences, as clients send them back: any text, and forged ones with a right checksum, run as queries.
#include <optional>
#include <set>
#include <string>

#include <boost/json.hpp>

#include "fuzz/target.h"
#include "query/walk/bookmark.h"
#include "unit/query/mango/find_fixture.h"

namespace {

using namespace octavo;
using namespace octavo::query;
using octavo::fuzz::InputReader;
using octavo::fuzz::require;

/// A small database with an ascending, a descending and a partial index.
class Database {
 public:
  Database() {
    for (int i = 0; i < 24; ++i) {
      const std::string id = "d" + std::to_string(100 + i);
      octavo::tests::EngineFixture::put(
          *fixture_.database, id,
          R"({"a":)" + std::to_string(i % 5) + R"(,"b":")" + std::string(1, static_cast<char>('a' + i % 7)) + "\"}");
    }
    fixture_.create_index(R"({"index":{"fields":["a"]},"ddoc":"one","name":"one","type":"json"})");
    fixture_.create_index(
        R"({"index":{"fields":[{"b":"desc"},{"a":"desc"}]},"ddoc":"two","name":"two","type":"json"})");
    fixture_.wait_for_indexes();
    for (const auto& view : (*fixture_.indexes().catalog())->indexes) identities_.push_back(view.definition->identity);
  }

  const std::string& identity(std::size_t i) const { return identities_[i % identities_.size()]; }
  const partitioning::Database& sequences() const { return *fixture_.database; }

  boost::json::object find(std::size_t which, std::string_view bookmark) {
    static constexpr std::string_view selectors[] = {
        R"("selector":{"a":{"$gte":1}})",
        R"("selector":{"b":{"$lt":"f"}},"sort":[{"b":"desc"},{"a":"desc"}])",
        R"("selector":{})",
        R"("selector":{"$or":[{"a":2},{"b":"c"}]})",
        R"("selector":{"a":{"$gt":0}},"sort":["a"])",
        R"("selector":{"_id":{"$gt":"d104"}})"};
    std::string body = "{\"limit\":7,";
    body += selectors[which % std::size(selectors)];
    body += ",\"bookmark\":" + boost::json::serialize(boost::json::value(boost::json::string(bookmark))) + "}";
    return fixture_.find(body, {}, 5);
  }

 private:
  octavo::tests::FindFixture fixture_;
  std::vector<std::string> identities_;
};

/// Whatever a bookmark says, a query is refused as a bad request or returns documents, each once.
void check_reply(const boost::json::object& reply) {
  if (const auto* error = reply.if_contains("error")) {
    const std::string_view word = error->as_string();
    require(word == "invalid_bookmark" || word == "error" || word == "no_usable_index" || word == "bad_request",
            "a bad bookmark is refused as such");
    return;
  }
  std::set<std::string> ids;
  for (const auto& document : reply.at("docs").as_array()) {
    require(ids.insert(std::string(document.at("_id").as_string())).second, "each document comes once");
  }
  require(ids.size() <= 7, "the limit holds");
}

void check_sequence(const partitioning::Database& database, std::string_view text) {
  const auto position = database.parse_sequence(text);
  if (!position) {
    require(position.error().code == ErrorCode::bad_request, "a bad sequence is a bad request");
    return;
  }
  const auto again = database.parse_sequence(database.format_sequence(position->sequence));
  require(again && again->sequence == position->sequence, "a sequence survives being written and read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Database database;
  InputReader in(octavo::fuzz::text_of(data, size));
  const std::uint8_t shape = in.byte();
  if ((shape & 3) == 0) {
    check_sequence(database.sequences(), in.rest());
    const auto decoded = Bookmark::decode(in.rest());
    if (!decoded) return 0;
    require(Bookmark::decode(decoded->encode()) == decoded, "a bookmark survives being written and read");
    check_reply(database.find(shape >> 2, in.rest()));
    return 0;
  }
  static constexpr Bookmark::Kind kinds[] = {Bookmark::Kind::primary, Bookmark::Kind::index, Bookmark::Kind::combined,
                                             Bookmark::Kind::sorted};
  Bookmark forged;
  const std::uint8_t more = in.byte();
  forged.kind = kinds[more & 3];
  forged.branch = more & 4 ? in.number(8) : more >> 6;
  forged.identity = more & 8 ? std::string(in.line()) : database.identity(more >> 4 & 3);
  forged.key = in.rest();
  require(Bookmark::decode(forged.encode()) == forged, "a bookmark survives being written and read");
  check_reply(database.find(shape >> 2, forged.encode()));
  // The same position in an index that is gone.
  static constexpr std::string_view indexes[] = {"+j+\1a", "-j-\1b-\1a", "+p", "|\1+j+\1b"};
  forged.identity = "gone";
  forged.index = indexes[more >> 4 & 3];
  require(Bookmark::decode(forged.encode()) == forged, "a bookmark survives being written and read");
  check_reply(database.find(shape >> 2, forged.encode()));
  return 0;
}

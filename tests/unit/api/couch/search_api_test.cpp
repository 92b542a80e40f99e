#include <catch2/catch.hpp>

#include "unit/api/couch/couch_api_fixture.h"

using octavo::tests::CouchApiFixture;
using octavo::tests::text;

namespace {

constexpr std::size_t text_bytes_max = 1024 * 1024;

std::string analysis_of(std::size_t text_bytes) {
  return R"({"analyzer":"keyword","text":")" + std::string(text_bytes, 'x') + "\"}";
}

}  // namespace

TEST_CASE("_search_analyze is for server admins") {
  octavo::config::Settings settings;
  settings.admins = {{"admin", "secret"}};
  settings.pbkdf2_iterations = 10;
  CouchApiFixture couch(settings);
  const auto by_get = couch.get("/_search_analyze?analyzer=simple&text=a");
  CHECK(by_get.status == 401);
  CHECK(text(by_get.json(), "reason") == "You are not a server admin.");
  CHECK(couch.post("/_search_analyze", analysis_of(1)).status == 401);
}

TEST_CASE("_search_analyze is open on a server without admins") {
  CouchApiFixture couch;
  const auto reply = couch.get("/_search_analyze?analyzer=simple&text=One+two");
  CHECK(reply.body == "{\"tokens\":[\"one\",\"two\"]}\n");
}

TEST_CASE("_search_analyze takes a long text, but not any") {
  CouchApiFixture couch;
  CHECK(couch.post("/_search_analyze", analysis_of(text_bytes_max)).status == 200);
  const auto refused = couch.post("/_search_analyze", analysis_of(text_bytes_max + 1));
  CHECK(refused.status == 413);
  CHECK(text(refused.json(), "reason") == "text must not be longer than 1048576 bytes");
}

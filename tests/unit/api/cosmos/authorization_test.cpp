#include "api/cosmos/call/authorization.h"

#include <ctime>
#include <map>

#include <catch2/catch.hpp>

#include "base/digest.h"
#include "base/encoding.h"
#include "support/engine_fixture.h"

namespace octavo::api::cosmos {
namespace {

struct Fields final : HeaderSource {
  std::map<std::string, std::string> values;
  std::optional<std::string_view> find(std::string_view name) const override {
    const auto found = values.find(std::string(name));
    return found == values.end() ? std::nullopt : std::optional<std::string_view>(found->second);
  }
  void for_each(FunctionRef<void(std::string_view name, std::string_view value)> visit) const override {
    for (const auto& [name, value] : values) visit(name, value);
  }
};

std::string http_date(std::time_t time) {
  char text[64];
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

class Asker {
 public:
  Asker() { request_.peer_address = "127.0.0.1"; }
  Request& request() { return request_; }

  /// Signs with `key` as of `time` and asks.
  Expected<Credential> ask(const Authorization& authorization, std::vector<std::string> segments, std::string_view key,
                           bool reads = true, std::time_t time = std::time(nullptr)) {
    const auto path = ResourcePath::parse(segments).value();
    const std::string date = http_date(time);
    const auto signature = crypto::hmac(crypto::Digest::sha256, crypto::base64_decode(key).value(),
                                        text_to_sign("GET", path.signed_type, path.signed_link, date, ""));
    fields_.values["x-ms-date"] = date;
    fields_.values["Authorization"] = percent_encode("type=master&ver=1.0&sig=" + crypto::base64_encode(signature));
    request_.headers = &fields_;
    return authorization.check(request_, path, reads);
  }

 private:
  Request request_;
  Fields fields_;
};

const std::string own_key = crypto::base64_encode("a key of one's own, long enough");

}  // namespace

// The example of the REST reference of Azure Cosmos DB.
TEST_CASE("the text to sign is lower-cased but for the link") {
  CHECK(text_to_sign("GET", "dbs", "dbs/ToDoList", "Thu, 27 Apr 2017 00:51:12 GMT", "") ==
        "get\ndbs\ndbs/ToDoList\nthu, 27 apr 2017 00:51:12 gmt\n\n");
  CHECK(text_to_sign("PUT", "docs", "dbs/a", "", "Thu, 27 Apr 2017 00:51:12 GMT") ==
        "put\ndocs\ndbs/a\n\nthu, 27 apr 2017 00:51:12 gmt\n");
}

TEST_CASE("a path is signed by type and link") {
  const auto parts = [](std::vector<std::string> segments) {
    const auto path = ResourcePath::parse(segments).value();
    return std::string(path.signed_type) + " " + path.signed_link;
  };
  CHECK(parts({}) == " ");
  CHECK(parts({"dbs"}) == "dbs ");
  CHECK(parts({"dbs", "a"}) == "dbs dbs/a");
  CHECK(parts({"dbs", "a", "colls"}) == "colls dbs/a");
  CHECK(parts({"dbs", "a", "colls", "b", "docs"}) == "docs dbs/a/colls/b");
  CHECK(parts({"dbs", "a", "colls", "b", "docs", "Ü i"}) == "docs dbs/a/colls/b/docs/Ü i");
  CHECK(parts({"dbs", "a", "colls", "b", "operations", "partitionkeydelete"}) == "colls dbs/a/colls/b");
  CHECK(parts({"dbs", "a", "users", "u", "permissions"}) == "permissions dbs/a/users/u");
  CHECK(parts({"dbs", "a", "clientencryptionkeys", "k"}) == "clientencryptionkeys dbs/a/clientencryptionkeys/k");
  CHECK(parts({"offers", "AbC="}) == "offers abc=");
  CHECK(parts({"", "dbs", "", "a"}) == "dbs dbs/a");
  CHECK(parts({"", ""}) == " ");
  CHECK_FALSE(ResourcePath::parse({"dbs", "a", "b"}));
  CHECK_FALSE(ResourcePath::parse({"dbs", "a", "colls", "b", "docs", "c", "attachments"}));
}

TEST_CASE("a link of resource ids is signed by the last one, in lower case") {
  const auto rid = [](std::vector<std::string> segments) { return ResourcePath::parse(segments).value().signed_rid; };
  CHECK(rid({"dbs", "wWsAUw=="}) == "wwsauw==");
  CHECK(rid({"dbs", "wWsAUw==", "colls"}) == "wwsauw==");
  CHECK(rid({"dbs", "wWsAUw==", "colls", "wWsAU4AAAAE="}) == "wwsau4aaaae=");
  CHECK(rid({"dbs", "wWsAUw==", "colls", "wWsAU4AAAAE=", "docs"}) == "wwsau4aaaae=");
  CHECK(rid({"dbs", "wWsAUw==", "colls", "by-name"}).empty());
  CHECK(rid({"dbs", "by-name"}).empty());
  CHECK(rid({"dbs"}).empty());
  auto path = ResourcePath::parse({"dbs", "wWsAUw==", "users", "ann", "permissions", "see"}).value();
  CHECK(path.has_resource_ids());
  path.database = "shop";
  CHECK(path.named_link() == "dbs/shop/users/ann/permissions/see");
}

TEST_CASE("the well-known key is for this machine, without a key or admins") {
  tests::EngineFixture fixture;
  auto& settings = fixture.settings();
  bool admins = false;
  const Authorization authorization(settings, fixture.engine(), [&] { return admins; });
  Asker asker;
  CHECK(asker.ask(authorization, {"dbs"}, well_known_key));
  asker.request().peer_address = "10.0.0.1";
  CHECK_FALSE(asker.ask(authorization, {"dbs"}, well_known_key));
  asker.request().peer_address = "127.0.0.1";
  admins = true;
  CHECK_FALSE(asker.ask(authorization, {"dbs"}, well_known_key));
  admins = false;
  settings.cosmos_read_only_key = own_key;
  const Authorization with_a_reading_key(settings, fixture.engine(), [] { return false; });
  CHECK_FALSE(asker.ask(with_a_reading_key, {"dbs"}, well_known_key));
  settings.cosmos_read_only_key.clear();
  settings.bind = "0.0.0.0";
  const Authorization open_to_all(settings, fixture.engine(), [] { return false; });
  CHECK_FALSE(asker.ask(open_to_all, {"dbs"}, well_known_key));
}

TEST_CASE("a key of one's own opens, for reading only or for everything") {
  tests::EngineFixture fixture;
  auto& settings = fixture.settings();
  settings.cosmos_key = own_key;
  settings.cosmos_read_only_key = crypto::base64_encode("another key, for reading");
  const Authorization authorization(settings, fixture.engine(), [] { return true; });
  Asker asker;
  CHECK(asker.ask(authorization, {"dbs"}, own_key, false));
  CHECK(asker.ask(authorization, {"dbs"}, settings.cosmos_read_only_key));
  CHECK(asker.ask(authorization, {"dbs"}, settings.cosmos_read_only_key, false).error().code == ErrorCode::forbidden);
  CHECK(asker.ask(authorization, {"dbs"}, well_known_key).error().code == ErrorCode::unauthorized);
  CHECK(asker.ask(authorization, {"dbs"}, crypto::base64_encode("a wrong key")).error().code ==
        ErrorCode::unauthorized);
}

TEST_CASE("the well-known key may be configured, and then opens from anywhere") {
  tests::EngineFixture fixture;
  fixture.settings().cosmos_key = "emulator";
  fixture.settings().bind = "0.0.0.0";
  const Authorization authorization(fixture.settings(), fixture.engine(), [] { return true; });
  Asker asker;
  asker.request().peer_address = "10.0.0.1";
  CHECK(asker.ask(authorization, {"dbs"}, well_known_key, false));
  CHECK(asker.ask(authorization, {"dbs"}, own_key).error().code == ErrorCode::unauthorized);
}

TEST_CASE("a signature is good for a quarter of an hour") {
  tests::EngineFixture fixture;
  fixture.settings().cosmos_key = own_key;
  const Authorization authorization(fixture.settings(), fixture.engine(), [] { return false; });
  Asker asker;
  const std::time_t now = std::time(nullptr);
  CHECK(asker.ask(authorization, {"dbs"}, own_key, true, now - 800));
  CHECK(asker.ask(authorization, {"dbs"}, own_key, true, now + 800));
  CHECK(asker.ask(authorization, {"dbs"}, own_key, true, now - 1000).error().code == ErrorCode::forbidden);
}

}  // namespace octavo::api::cosmos

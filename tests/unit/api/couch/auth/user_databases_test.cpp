#include "api/couch/auth/user_databases.h"

#include <thread>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "unit/api/couch/auth/auth_fixture.h"

using namespace octavo;
using namespace octavo::api::couch;
using octavo::tests::AuthFixture;

namespace {

config::Settings with_user_databases(bool delete_databases = false) {
  auto settings = AuthFixture::settings_with({{"admin", "secret"}});
  settings.peruser_enabled = true;
  settings.peruser_delete_databases = delete_databases;
  return settings;
}

void write_user(AuthFixture& fixture, const std::string& name) {
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), name,
                             R"({"type":"user","roles":[],"password":"x","name":")" + name + R"("})"));
}

void delete_user(AuthFixture& fixture, const std::string& name) {
  REQUIRE(fixture.write_user(AuthFixture::server_admin(), name, "{}", true));
}

void follow_all(AuthFixture& fixture, UserDatabases& databases) {
  const auto users = fixture.users();
  while (users->watermark() < users->committed_sequence()) std::this_thread::yield();
  auto more = databases.follow();
  while (more && *more) more = databases.follow();
  REQUIRE(more);
}

boost::json::value security_of(AuthFixture& fixture, const std::string& name) {
  const auto database = fixture.engine().find_database(name);
  REQUIRE(database);
  REQUIRE(database->security());
  return boost::json::parse(*database->security());
}

}  // namespace

TEST_CASE("the database of a user has the user's name in hexadecimal") {
  CHECK(user_database_name("userdb-", "bob") == "userdb-626f62");
  CHECK(user_database_name("u/", "Ä") == "u/c384");
}

TEST_CASE("a new user gets a database that names it as admin and member") {
  AuthFixture fixture(with_user_databases());
  UserDatabases databases(fixture.engine());
  write_user(fixture, "bob");
  follow_all(fixture, databases);
  const auto security = security_of(fixture, "userdb-626f62");
  for (const char* list : {"admins", "members"}) {
    CHECK(security.at(list).at("names") == boost::json::array{"bob"});
    CHECK(security.at(list).at("roles") == boost::json::array{"_admin"});
  }
}

TEST_CASE("no user gets a database unless that is enabled, and then earlier users do, too") {
  AuthFixture fixture;
  UserDatabases databases(fixture.engine());
  write_user(fixture, "bob");
  follow_all(fixture, databases);
  CHECK(fixture.engine().find_database("userdb-626f62") == nullptr);
  REQUIRE(fixture.engine().runtime_settings().set(*config::find_setting("couch_peruser", "enable"), "true"));
  follow_all(fixture, databases);
  CHECK(fixture.engine().find_database("userdb-626f62") != nullptr);
}

TEST_CASE("a deleted user is taken out of the security of its database") {
  AuthFixture fixture(with_user_databases());
  UserDatabases databases(fixture.engine());
  write_user(fixture, "bob");
  follow_all(fixture, databases);
  delete_user(fixture, "bob");
  follow_all(fixture, databases);
  CHECK(security_of(fixture, "userdb-626f62").at("members").at("names") == boost::json::array());
}

TEST_CASE("the database of a deleted user is deleted where that is set") {
  AuthFixture fixture(with_user_databases(true));
  UserDatabases databases(fixture.engine());
  write_user(fixture, "bob");
  follow_all(fixture, databases);
  delete_user(fixture, "bob");
  follow_all(fixture, databases);
  CHECK(fixture.engine().find_database("userdb-626f62") == nullptr);
}

TEST_CASE("what was done for a user is not done again after a restart") {
  AuthFixture fixture(with_user_databases());
  write_user(fixture, "bob");
  {
    UserDatabases databases(fixture.engine());
    follow_all(fixture, databases);
  }
  REQUIRE(fixture.engine().delete_database("userdb-626f62"));
  UserDatabases again(fixture.engine());
  follow_all(fixture, again);
  CHECK(fixture.engine().find_database("userdb-626f62") == nullptr);
  write_user(fixture, "eve");
  follow_all(fixture, again);
  CHECK(fixture.engine().find_database("userdb-657665") != nullptr);
}

TEST_CASE("a user whose name is too long for a database does not keep the others waiting") {
  AuthFixture fixture(with_user_databases());
  UserDatabases databases(fixture.engine());
  write_user(fixture, std::string(200, 'x'));
  write_user(fixture, "bob");
  follow_all(fixture, databases);
  CHECK(fixture.engine().find_database("userdb-626f62") != nullptr);
}

TEST_CASE("the security of a user's database is kept where it is already as it should be") {
  AuthFixture fixture(with_user_databases());
  UserDatabases databases(fixture.engine());
  const auto own = fixture.engine().create_database("userdb-626f62", {}).value();
  REQUIRE(own->set_security(R"({"members":{"names":["eve"],"roles":[]},"more":1})"));
  write_user(fixture, "bob");
  follow_all(fixture, databases);
  const auto security = security_of(fixture, "userdb-626f62");
  CHECK(security.at("members").at("names") == boost::json::array{"bob", "eve"});
  CHECK(security.at("admins").at("names") == boost::json::array{"bob"});
  CHECK(security.at("more") == 1);
}

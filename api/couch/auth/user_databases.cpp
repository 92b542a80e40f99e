#include "api/couch/auth/user_databases.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "api/couch/auth/security.h"
#include "api/couch/auth/users_database.h"
#include "base/jobs/run_guarded.h"
#include "query/follow/feed_batch.h"
#include "query/json/large_integer.h"
#include "query/json/parsed_document.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;

constexpr std::string_view position_name = "user_databases";
constexpr std::size_t changes_max = 1'000;             // in one step
constexpr std::chrono::milliseconds idle_time{1'000};  // until the setting is looked at again
constexpr std::chrono::milliseconds watch_time{250};   // until the end of the thread is looked for again

struct UserChange {
  std::string name;
  bool deleted = false;
};

Expected<storage::Sequence> read_position(storage::Catalog& catalog, const partitioning::Database& users) {
  OCTAVO_TRY(const auto text, catalog.fact(storage::Catalog::area_of_database(users.instance_tag()), position_name));
  storage::Sequence position = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), position);
  // In a backup the catalog may be newer than the users: then all of them are looked at again.
  return position > users.committed_sequence() ? 0 : position;
}

/// Adds the user to the names of `list`, or removes it. False: nothing changes.
bool change_names(json::object& security, std::string_view list, const std::string& user, bool add) {
  json::value& members = security[list];
  if (!members.is_object()) members = json::object();
  json::value& names = members.get_object()["names"];
  if (!names.is_array()) names = json::array();
  json::array& array = names.get_array();
  const auto known = std::ranges::find(array, json::value(user));
  if ((known != array.end()) == add) return false;
  if (add) {
    array.insert(array.begin(), json::value(user));
  } else {
    array.erase(known);
  }
  return true;
}

Expected<void> change_security(partitioning::Database& database, const std::string& user, bool add) {
  const auto stored = database.security();
  OCTAVO_TRY(auto security, query::parse_json(stored ? std::string_view(*stored) : default_security_json(true)));
  if (!security.is_object()) return {};
  bool changed = false;
  for (const std::string_view list : {"admins", "members"}) {
    changed = change_names(security.get_object(), list, user, add) || changed;
  }
  if (!changed) return {};
  return database.set_security(query::serialize_json(security));
}

}  // namespace

std::string user_database_name(std::string_view prefix, std::string_view user) {
  std::string name(prefix);
  for (const char c : user) name += fmt::format("{:x}", static_cast<unsigned char>(c));
  return name;
}

Expected<void> UserDatabases::apply(const config::Settings& settings, const std::string& user, bool deleted) {
  const std::string name = user_database_name(settings.peruser_prefix, user);
  auto database = engine_.open_database(name);
  if (!database && database.error().code != ErrorCode::not_found) return std::unexpected(database.error());
  if (deleted && settings.peruser_delete_databases) {
    if (!database) return {};
    const std::string present_name = (*database)->name();
    database->reset();  // the files are removed when the last reference is gone
    auto removed = engine_.delete_database(present_name);
    if (!removed && removed.error().code != ErrorCode::not_found) return removed;
    spdlog::info("database {}: deleted with its user", name);
    return {};
  }
  if (!database) {
    if (deleted) return {};
    database = engine_.create_database(name, {.q = settings.peruser_q});
    if (!database && database.error().code == ErrorCode::precondition_failed) database = engine_.open_database(name);
    if (!database && database.error().code == ErrorCode::bad_request) {
      spdlog::error("user {:?} gets no database: {}", user, reason_of(database.error()));
      return {};
    }
    if (!database) return std::unexpected(database.error());
    spdlog::info("database {}: created for a user", name);
  }
  return change_security(**database, user, !deleted);
}

Expected<bool> UserDatabases::follow() {
  const config::Settings& settings = engine_.settings();
  if (!settings.peruser_enabled) return false;
  OCTAVO_TRY(const auto users, engine_.open_database(users_database));
  OCTAVO_TRY(const auto position, read_position(engine_.catalog(), *users));
  const storage::Sequence watermark = users->watermark();
  seen_ = watermark;
  if (position >= watermark) return false;
  std::vector<UserChange> changes;
  const auto show = [&](std::string_view id, const storage::Snapshot& snapshot) -> Expected<bool> {
    if (!id.starts_with(user_id_prefix)) return true;
    OCTAVO_TRY(const auto document, snapshot.find_record(id));
    changes.push_back({std::string(id.substr(user_id_prefix.size())), !document || document->deleted});
    return true;
  };
  OCTAVO_TRY(const auto batch, query::read_feed_batch(*users, position, watermark, changes_max, show));
  OCTAVO_TRY_VOID(users->make_durable());
  for (const auto& [name, deleted] : changes) OCTAVO_TRY_VOID(apply(settings, name, deleted));
  OCTAVO_TRY_VOID(engine_.catalog().set_fact(storage::Catalog::area_of_database(users->instance_tag()), position_name,
                                             std::to_string(batch.reached)));
  return batch.reached > position && (batch.more || users->watermark() > batch.reached);
}

void UserDatabases::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void UserDatabases::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void UserDatabases::run(const std::stop_token& stop) {
  bool failed = false;
  while (!stop.stop_requested()) {
    const auto followed = run_guarded("databases of users", [this] { return follow(); });
    if (!followed && !failed) {
      spdlog::error("databases of users wait: {}", reason_of(followed.error()));
    }
    failed = !followed;
    if (failed || !*followed) wait(stop, failed);
  }
}

void UserDatabases::wait(const std::stop_token& stop, bool failed) {
  const auto users = engine_.settings().peruser_enabled && !failed ? engine_.find_database(users_database) : nullptr;
  if (users == nullptr) {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, stop, idle_time, [] { return false; });
    return;
  }
  boost::asio::io_context context(1);
  const auto deadline = std::chrono::steady_clock::now() + watch_time;
  boost::asio::co_spawn(context.get_executor(), users->wait_for_change(seen_, deadline),
                        [](const std::exception_ptr&, bool) {});
  context.run();
}

}  // namespace octavo::api::couch

#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "partitioning/engine.h"
#include "storage/document/document.h"

namespace octavo::api::couch {

/// A database for each user, as CouchDB's module couch_peruser makes them if the setting couch_peruser.enable is true:
/// a document of `_users` creates `userdb-{name in hexadecimal}`, and its deletion deletes that database
/// (couch_peruser.delete_dbs) or takes the user out of its `_security`.
///
/// Follows the feed of `_users` on a thread of its own. A position in the feed is stored when everything up to it has
/// been done, so nothing is missed or done again after a restart: a deleted database stays deleted.
///
/// Format (position of the databases of users in the catalog):
///   area "of:" instance tag of _users, name "user_databases" → sequence in decimal digits
class UserDatabases {
 public:
  /// `engine` must outlive this.
  explicit UserDatabases(partitioning::Engine& engine) : engine_(engine) {}
  ~UserDatabases() { stop(); }
  UserDatabases(const UserDatabases&) = delete;
  UserDatabases& operator=(const UserDatabases&) = delete;

  void start();
  void stop();

  /// Does what the next changes of `_users` require. False: there is nothing (more) to do. Blocking; called by the
  /// thread. Errors: those of the storage; the same changes come again.
  Expected<bool> follow();

 private:
  Expected<void> apply(const config::Settings& settings, const std::string& user, bool deleted);
  void run(const std::stop_token& stop);
  void wait(const std::stop_token& stop, bool failed);

  partitioning::Engine& engine_;
  storage::Sequence seen_ = 0;  ///< watermark of `_users` at the last follow()
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

/// The name of a user's database: the bytes of the user's name in hexadecimal, after the prefix.
std::string user_database_name(std::string_view prefix, std::string_view user);

}  // namespace octavo::api::couch

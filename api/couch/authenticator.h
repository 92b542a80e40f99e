#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/couch/call.h"
#include "api/http/request.h"
#include "config/settings.h"
#include "partitioning/engine.h"

namespace octavo::api::couch {

/// Finds out who sends a request: Basic, session cookie, JWT; admins from the configuration, users from `_users`.
/// Thread-safe. Verified passwords are remembered as keyed hashes, so PBKDF2 runs once per password, on a worker
/// thread.
class Authenticator {
 public:
  /// Stores PBKDF2 hashes of configured admins in the catalog, makes or loads the cookie secret. Blocking: PBKDF2 once
  /// or twice per admin. `settings` and `engine` must outlive the authenticator.
  ///
  /// The configuration decides who is admin: a changed password replaces the stored one, admins it does not name are
  /// removed. But when it names none, those stored before stay admins: losing a variable must not open the server.
  /// Errors: bad_request (a setting that cannot be used, named in the reason), storage's.
  static Expected<std::unique_ptr<Authenticator>> create(const config::Settings& settings,
                                                         partitioning::Engine& engine);
  ~Authenticator();

  /// Error unauthorized for wrong credentials (also on routes that need none, as CouchDB). Anonymous otherwise, unless
  /// `require_valid_user` is set: then error unauthorized, but for `/_up`, `/_ready` and POST `/_session`.
  /// Fast path (no credentials, or remembered ones) does not suspend.
  Task<Expected<UserContext>> authenticate(Request& request);
  /// Checks name and password (POST /_session); error unauthorized "Name or password is incorrect.".
  /// Also forbidden after too many failures for that user from that address.
  Task<Expected<UserContext>> log_in(std::string_view name, std::string_view password,
                                     std::string_view peer_address = {});
  /// Value of the AuthSession cookie for a user, valid from now.
  std::string issue_cookie(const UserContext& user) const;
  /// Set-Cookie to renew a cookie that is past half its life; nullopt otherwise.
  std::optional<std::string> renewed_cookie(const Request& request, const UserContext& user) const;
  bool has_admins() const;
  /// The admins become those of `settings`, as in create(); sessions of others end. Blocking, as there. Errors: as
  /// there, and those known before stay.
  Expected<void> reload_admins(const config::Settings& settings);
  /// JWT keys are configured.
  bool accepts_jwt() const;
  /// A `_users` document changed: forget what is remembered of it.
  void forget(std::string_view user_name);

 private:
  struct State;
  explicit Authenticator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Access rules, CouchDB's: server admins may all; `_security` admins and members by name and role; an empty members
/// list admits everyone — save that a database without `_security` is admins-only when the server has admins (CouchDB
/// 3's default).
Expected<void> check_access(Access access, const UserContext& user, const partitioning::Database* database,
                            bool server_has_admins);

}  // namespace octavo::api::couch

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/couch/auth/user_directory.h"
#include "api/couch/call/call.h"
#include "api/http/request.h"
#include "config/settings.h"
#include "partitioning/engine.h"

namespace octavo::api::couch {

/// Authenticates requests: Basic, session cookies, a trusted proxy, JWT; admins from the configuration, users from
/// `_users`.
/// Thread-safe. Verified passwords are remembered as keyed hashes, so PBKDF2 runs once per password, on a worker
/// thread.
class Authenticator {
 public:
  /// Stores PBKDF2 hashes of configured admins in the catalog, and creates or loads the cookie secret. Blocking: PBKDF2
  /// runs once or twice per admin. `settings` and `engine` must outlive the authenticator.
  ///
  /// The configuration decides who is an admin: a changed password replaces the stored one, and admins that it does not
  /// name are removed. If it names no admins, the stored ones remain: a lost variable must not open the server.
  /// Errors: bad_request (an unusable setting, named in the reason), those of the storage.
  static Expected<std::unique_ptr<Authenticator>> create(const config::Settings& settings,
                                                         partitioning::Engine& engine);
  ~Authenticator();

  /// Error unauthorized for wrong credentials (also on routes that need none, as in CouchDB). Without credentials the
  /// user is anonymous, unless `require_valid_user` is set: then error unauthorized, except for `/_up`, `/_ready` and
  /// POST `/_session`. The fast path (no credentials, or remembered ones) does not suspend.
  Task<Expected<UserContext>> authenticate(Request& request);
  /// Checks name and password (POST /_session). Errors: unauthorized "Name or password is incorrect."; forbidden after
  /// too many failures for that user from that address.
  Task<Expected<UserContext>> log_in(std::string_view name, std::string_view password,
                                     std::string_view peer_address = {});
  /// Value of the AuthSession cookie for a user, valid from now.
  std::string issue_cookie(const UserContext& user) const;
  /// Set-Cookie value that renews a cookie which is past half its lifetime; nullopt otherwise.
  std::optional<std::string> renewed_cookie(const Request& request, const UserContext& user) const;
  bool has_admins() const;
  /// Replaces the configured admins by those of `settings`, as create() does; sessions of removed admins end. Blocking.
  /// On error (those of create()) the previous admins remain.
  Expected<void> reload_admins(const config::Settings& settings);
  /// Adds an admin beside the configured ones, or changes its password, durably. `password` may be a hash in the form
  /// of CouchDB's configuration. Blocking: PBKDF2. Errors: bad_request; forbidden (a configured admin with another
  /// password).
  Expected<void> set_admin(const std::string& name, const std::string& password);
  /// Removes an admin durably; its sessions end. False: there is no such admin. Blocking. Errors: forbidden (a
  /// configured admin, or the last one of a server that other machines can reach).
  Expected<bool> remove_admin(const std::string& name);
  std::vector<std::string> admin_names() const;
  /// True if a proxy may authenticate users.
  bool accepts_proxy() const;
  /// True if JWT keys are configured.
  bool accepts_jwt() const;
  /// Discards what is remembered of a user. Call this when the user's document in `_users` changed.
  void forget(std::string_view user_name);
  /// How users were found since the start, for statistics.
  UserLookups user_lookups() const;

 private:
  struct State;
  explicit Authenticator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Applies CouchDB's access rules: server admins may do everything; `_security` names admins and members by name and
/// role; an empty members list admits everyone. But a database without `_security` is admins-only if the server has
/// admins (CouchDB 3's default).
Expected<void> check_access(Access access, const UserContext& user, const partitioning::Database* database,
                            bool server_has_admins);

}  // namespace octavo::api::couch

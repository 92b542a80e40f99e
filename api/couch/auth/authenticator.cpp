#include "api/couch/auth/authenticator.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

#include "api/couch/auth/admin_store.h"
#include "api/couch/auth/jwt.h"
#include "api/couch/auth/password_checker.h"
#include "api/couch/auth/session_cookie.h"
#include "api/couch/auth/user_directory.h"
#include "base/ascii_case.h"
#include "base/digest.h"
#include "base/encoding.h"
#include "base/thread_ordinal.h"
#include "base/unix_time.h"
#include "config/live_settings.h"
#include "config/validate.h"

namespace octavo::api::couch {

namespace {

/// The value of an Authorization header after its scheme, which is compared ignoring case; nullopt for another scheme.
std::optional<std::string_view> after_scheme(std::string_view header, std::string_view scheme) {
  if (header.size() <= scheme.size() || header[scheme.size()] != ' ') return std::nullopt;
  if (!equals_ignoring_case(header.substr(0, scheme.size()), scheme)) return std::nullopt;
  header.remove_prefix(scheme.size());
  while (header.starts_with(' ')) header.remove_prefix(1);
  return header;
}

struct Credentials {
  std::string name;
  std::string password;
};

/// nullopt if no credentials were sent. Errors: bad_request.
Expected<std::optional<Credentials>> basic_credentials(std::string_view header) {
  const auto encoded = after_scheme(header, "basic");
  if (!encoded) return fail(ErrorCode::bad_request, "Authorization header is invalid");
  const auto text = crypto::base64_decode(*encoded);
  if (!text) return fail(ErrorCode::bad_request, "Authorization header has invalid base64 value");
  const std::size_t colon = text->find(':');
  if (colon == std::string::npos) return std::nullopt;
  Credentials credentials{text->substr(0, colon), text->substr(colon + 1)};
  // Browsers cannot forget a password. In CouchDB, these credentials mean "logged out".
  if (credentials.name == "_" && credentials.password == "_") return std::nullopt;
  return credentials;
}

UserContext context_of(const UserRecord& user, std::string_view method) {
  return {user.name, user.roles, method};
}

bool open_to_everyone(const Request& request) {
  if (request.segments.size() != 1) return false;
  const std::string& name = request.segments.front();
  return name == "_up" || name == "_ready" || (name == "_session" && request.method == Method::post);
}

// Whether the header is one of the Azure Cosmos DB API, whose clients percent-encode it.
bool is_signed_for_cosmos(std::string_view header) {
  constexpr std::string_view encoded = "type%3d";
  return header.starts_with("type=") || equals_ignoring_case(header.substr(0, encoded.size()), encoded);
}

std::string port_of_cosmos(const config::Settings& settings) {
  std::string text = "This port has the CouchDB API. ";
  if (!settings.cosmos_enabled) return text + "The Azure Cosmos DB API is off (cosmos.enabled).";
  return text + "The Azure Cosmos DB API is on another one (cosmos.port = " + std::to_string(settings.cosmos_port) +
         ").";
}

}  // namespace

struct Authenticator::State {
  State(const config::Settings& server_settings, partitioning::Engine& engine, UserDirectory::Admins admins,
        std::string secret)
      : database_engine(engine),
        users(engine, std::move(admins)),
        passwords(engine),
        random_secret(std::move(secret)),
        keyed_hash(crypto::random_bytes(32)) {
    keep_configured(server_settings);
  }

  Expected<std::optional<UserContext>> by_cookie(std::string_view value);
  std::optional<UserContext> by_proxy(const Request& request) const;
  Expected<UserContext> by_jwt(std::string_view token);
  Expected<UserContext> anonymous(const Request& request) const;

  const config::Settings& settings() const { return database_engine.settings(); }
  storage::Catalog& catalog() const { return database_engine.catalog(); }
  /// Signs cookies.
  std::string_view cookie_secret() const {
    const std::string& configured = settings().cookie_secret;
    return configured.empty() ? random_secret : configured;
  }
  /// Makes the tokens of a trusted proxy; absent: there is no such proxy.
  const std::optional<crypto::KeyedHash>& proxy_hash() const {
    return proxy_hashes.of(settings(), [](const config::Settings& version) {
      std::optional<crypto::KeyedHash> hash;
      if (!version.proxy_secret.empty()) hash.emplace(version.proxy_secret);
      return hash;
    });
  }
  const JwtVerifier& jwt(const config::Settings& version) const {
    return jwt_verifiers.of(version, [](const config::Settings& made_for) {
      // create() has checked the keys, which do not change.
      return JwtVerifier(JwtKeys::load(made_for.jwt_keys).value_or(JwtKeys()), made_for.jwt_required_claims,
                         made_for.jwt_roles_claim_path);
    });
  }
  void keep_configured(const config::Settings& configured) {
    configured_admins.clear();
    for (const auto& [name, password] : configured.admins) {
      const auto source = configured.sources.by_name.find("admins." + name);
      configured_admins[name] = source == configured.sources.by_name.end() ? "the configuration" : source->second;
    }
  }
  Expected<void> check_may_change(const std::string& name) const;

  // Tokens verified before, per thread: checking a signature takes up to 100 µs.
  using JwtCache = BoundedCache<crypto::KeyedHash::Value, JwtIdentity, VerifiedFingerprints::FingerprintHash>;
  struct alignas(64) JwtSlot {
    std::mutex mutex;
    JwtCache verified{128};
  };

  partitioning::Engine& database_engine;
  UserDirectory users;
  PasswordChecker passwords;
  const std::string random_secret;  ///< signs cookies unless a secret is configured
  config::MadeFromSettings<JwtVerifier> jwt_verifiers;
  crypto::KeyedHash keyed_hash;
  config::MadeFromSettings<std::optional<crypto::KeyedHash>> proxy_hashes;
  std::mutex admins_mutex;                               ///< is held while admins change
  std::map<std::string, std::string> configured_admins;  ///< name → where it was given; guarded by the mutex
  VerifiedFingerprints verified_cookies;
  std::array<JwtSlot, 32> jwt_slots;
};

Expected<std::unique_ptr<Authenticator>> Authenticator::create(const config::Settings& settings,
                                                               partitioning::Engine& engine) {
  OCTAVO_TRY_VOID(JwtKeys::load(settings.jwt_keys));
  OCTAVO_TRY(auto admins, reconcile_admins(settings, engine.catalog()));
  OCTAVO_TRY(auto secret, load_cookie_secret(engine.catalog()));
  auto state = std::make_unique<State>(settings, engine, std::move(admins), std::move(secret));
  return std::unique_ptr<Authenticator>(new Authenticator(std::move(state)));
}

Authenticator::Authenticator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Authenticator::~Authenticator() = default;

// A request with an expired cookie, or one of a deleted user, is anonymous and no error: clients send every cookie they
// have.
Expected<std::optional<UserContext>> Authenticator::State::by_cookie(std::string_view value) {
  const auto cookie = SessionCookie::decode(value);
  if (!cookie) {
    return fail(ErrorCode::bad_request, "Malformed AuthSession cookie. Please clear your cookies.");
  }
  OCTAVO_TRY(const auto user, users.find(cookie->user));
  if (!user || user->conflicted) return std::nullopt;
  if (cookie->seconds_left(unix_now_s(), settings().session_timeout_s) <= 0) return std::nullopt;
  const std::string_view secret = cookie_secret();
  const auto fingerprint = keyed_hash({value, user->salt(), secret});
  if (!verified_cookies.contains(fingerprint)) {
    if (!cookie->signed_with(secret, user->salt())) return std::nullopt;
    verified_cookies.add(fingerprint);
  }
  return context_of(*user, "cookie");
}

// A proxy proves by a token, the HMAC of the user's name, that it shares the secret. As in CouchDB, the roles are not
// part of the token, and a request with a wrong one is a request without it.
std::optional<UserContext> Authenticator::State::by_proxy(const Request& request) const {
  const auto& hash = proxy_hash();
  if (!hash) return std::nullopt;
  const auto name = request.header("X-Auth-CouchDB-UserName");
  const auto token = request.header("X-Auth-CouchDB-Token");
  if (!name || name->empty() || !token) return std::nullopt;
  const auto mac = hash->of_message(*name);
  bool trusted = crypto::constant_time_equal(crypto::hex_encode({mac.data(), mac.size()}), *token);
  if (!trusted && token->size() == 2 * crypto::digest_bytes(crypto::Digest::sha1)) {  // of an older proxy
    const auto old_mac = crypto::hmac(crypto::Digest::sha1, settings().proxy_secret, *name);
    trusted = crypto::constant_time_equal(crypto::hex_encode(old_mac), *token);
  }
  if (!trusted) return std::nullopt;
  UserContext user{std::string(*name), {}, "proxy"};
  std::string_view roles = request.header("X-Auth-CouchDB-Roles").value_or("");
  while (!roles.empty()) {
    const std::size_t comma = std::min(roles.find(','), roles.size());
    const std::string_view role = trim_blanks(roles.substr(0, comma));
    if (!role.empty()) user.roles.emplace_back(role);
    roles.remove_prefix(std::min(comma + 1, roles.size()));
  }
  return user;
}

Expected<UserContext> Authenticator::State::by_jwt(std::string_view token) {
  // A token that was accepted under other settings is verified again.
  const config::Settings* version = &settings();
  const auto fingerprint =
      keyed_hash({token, std::string_view(reinterpret_cast<const char*>(&version), sizeof version)});
  const std::int64_t now = unix_now_s();
  JwtSlot& slot = jwt_slots[thread_ordinal() % jwt_slots.size()];
  {
    const std::lock_guard lock(slot.mutex);
    const JwtIdentity* known = slot.verified.find(fingerprint);
    if (known != nullptr && (!known->expires_s || *known->expires_s > now)) {
      return UserContext{known->subject, known->roles, "jwt"};
    }
  }
  OCTAVO_TRY(auto identity, jwt(*version).verify(token, now));
  UserContext user{identity.subject, identity.roles, "jwt"};
  const std::lock_guard lock(slot.mutex);
  slot.verified.insert(fingerprint, std::move(identity));
  return user;
}

Expected<UserContext> Authenticator::State::anonymous(const Request& request) const {
  UserContext user;
  if (settings().require_valid_user) {
    if (!open_to_everyone(request)) return fail(ErrorCode::unauthorized, "Authentication required.");
  } else if (!users.has_admins()) {
    user.roles.emplace_back("_admin");
  }
  return user;
}

Task<Expected<UserContext>> Authenticator::authenticate(Request& request) {
  if (const auto value = session_cookie_of(request)) {
    OCTAVO_CO_TRY(auto user, state_->by_cookie(*value));
    if (user) co_return std::move(*user);
  }
  if (auto user = state_->by_proxy(request)) co_return std::move(*user);
  const auto header = request.header("Authorization");
  if (!header || header->empty()) co_return state_->anonymous(request);
  if (state_->jwt(state_->settings()).enabled()) {
    if (const auto token = after_scheme(*header, "bearer")) co_return state_->by_jwt(*token);
  }

  if (is_signed_for_cosmos(*header)) co_return fail(ErrorCode::bad_request, port_of_cosmos(state_->settings()));
  OCTAVO_CO_TRY(auto credentials, basic_credentials(*header));
  if (!credentials) co_return state_->anonymous(request);
  OCTAVO_CO_TRY(const auto user, state_->users.find(credentials->name));
  if (user && state_->passwords.remembered(*user, credentials->password)) {
    co_return context_of(*user, "default");
  }
  OCTAVO_CO_TRY_VOID(co_await state_->passwords.check(user, std::move(credentials->name),
                                                      std::move(credentials->password), request.peer_address));
  co_return context_of(*user, "default");
}

Task<Expected<UserContext>> Authenticator::log_in(std::string_view name, std::string_view password,
                                                  std::string_view peer_address) {
  OCTAVO_CO_TRY(const auto user, state_->users.find(name));
  if (!user || !state_->passwords.remembered(*user, password)) {
    OCTAVO_CO_TRY_VOID(
        co_await state_->passwords.check(user, std::string(name), std::string(password), std::string(peer_address)));
  }
  co_return context_of(*user, "cookie");
}

std::string Authenticator::issue_cookie(const UserContext& user) const {
  const auto record = state_->users.find(user.name);
  const std::string_view salt = record && *record ? (*record)->salt() : std::string_view();
  return SessionCookie::encode(user.name, unix_now_s(), state_->cookie_secret(), salt);
}

std::optional<std::string> Authenticator::renewed_cookie(const Request& request, const UserContext& user) const {
  if (user.method != "cookie") return std::nullopt;
  const auto value = session_cookie_of(request);
  const auto cookie = value ? SessionCookie::decode(*value) : std::nullopt;
  if (!cookie || cookie->user != user.name) return std::nullopt;
  const config::Settings& settings = state_->settings();
  const std::int64_t timeout_s = settings.session_timeout_s.count();
  const auto left_s = cookie->seconds_left(unix_now_s(), settings.session_timeout_s);
  if (left_s > timeout_s / 2) return std::nullopt;
  return set_session_cookie(issue_cookie(user), settings, request.tls);
}

bool Authenticator::has_admins() const {
  return state_->users.has_admins();
}

Expected<void> Authenticator::reload_admins(const config::Settings& settings) {
  const std::lock_guard lock(state_->admins_mutex);
  OCTAVO_TRY(auto admins, reconcile_admins(settings, state_->catalog()));
  state_->users.set_admins(std::move(admins));
  state_->keep_configured(settings);
  return {};
}

Expected<void> Authenticator::State::check_may_change(const std::string& name) const {
  const auto configured = configured_admins.find(name);
  if (configured == configured_admins.end()) return {};
  return fail(ErrorCode::forbidden,
              "The admin " + name + " is given by " + configured->second +
                  ", which is stronger than a change at run time. Change it there.",
              "modification_not_allowed");
}

Expected<void> Authenticator::set_admin(const std::string& name, const std::string& password) {
  const std::lock_guard lock(state_->admins_mutex);
  auto admins = state_->users.admins();
  const auto known = admins.find(name);
  if (known != admins.end() && known->second.matches(password)) return {};
  OCTAVO_TRY_VOID(state_->check_may_change(name));
  OCTAVO_TRY(auto stored, store_admin(state_->catalog(), name, password, state_->settings().pbkdf2_iterations));
  admins.insert_or_assign(name, std::move(stored));
  state_->users.set_admins(std::move(admins));
  return {};
}

Expected<bool> Authenticator::remove_admin(const std::string& name) {
  const std::lock_guard lock(state_->admins_mutex);
  auto admins = state_->users.admins();
  if (!admins.contains(name)) return false;
  OCTAVO_TRY_VOID(state_->check_may_change(name));
  const config::Settings& settings = state_->settings();
  if (admins.size() == 1 && !config::is_loopback(settings.bind) && !settings.allow_public_without_auth) {
    return fail(ErrorCode::forbidden,
                "The last admin of a server that other machines can reach cannot be removed: everybody could read and "
                "delete everything.",
                "modification_not_allowed");
  }
  OCTAVO_TRY_VOID(erase_admin(state_->catalog(), name));
  admins.erase(name);
  state_->users.set_admins(std::move(admins));
  return true;
}

std::vector<std::string> Authenticator::admin_names() const {
  std::vector<std::string> names;
  for (const auto& [name, password] : state_->users.admins()) names.push_back(name);
  return names;
}

bool Authenticator::accepts_proxy() const {
  return state_->proxy_hash().has_value();
}

bool Authenticator::accepts_jwt() const {
  return state_->jwt(state_->settings()).enabled();
}

UserLookups Authenticator::user_lookups() const {
  return state_->users.lookups();
}

void Authenticator::forget(std::string_view user_name) {
  state_->users.forget(user_name);
}

}  // namespace octavo::api::couch

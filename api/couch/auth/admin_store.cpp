#include "api/couch/auth/admin_store.h"

#include <spdlog/spdlog.h>

#include "base/digest.h"
#include "base/encoding.h"

namespace octavo::api::couch {

namespace {

// Format (admins and secrets in the catalog):
//   area "admins", name of the admin     → admin entry (stored_password.cpp): those that were configured last
//   area "added_admins", name            → admin entry: those that were added at run time
//   area "secrets", name of the secret   → random bytes in hexadecimal: "cookie" has 32, "server_uuid" 16
constexpr std::string_view admins_area = "admins";
constexpr std::string_view added_admins_area = "added_admins";
constexpr std::string_view secrets_area = "secrets";

Expected<void> check_admin(const std::string& name, const std::string& password) {
  // Basic credentials and session cookies end the name at the first colon.
  if (name.empty() || name.find(':') != std::string::npos) {
    return fail(ErrorCode::bad_request, "admin \"" + name + "\": a name must not be empty or contain ':'");
  }
  if (password.empty()) return fail(ErrorCode::bad_request, "admin \"" + name + "\" has an empty password");
  return {};
}

/// True if `stored` is a hash of `password` with today's scheme and iterations; only the salt may differ.
bool up_to_date(const std::optional<StoredPassword>& stored, const std::string& password, std::uint32_t iterations) {
  return stored && stored->scheme == StoredPassword::Scheme::pbkdf2 && stored->digest == crypto::Digest::sha256 &&
         stored->iterations == iterations && stored->matches(password);
}

Expected<UserDirectory::Admins> read_admins(storage::Catalog& catalog, std::string_view area) {
  UserDirectory::Admins admins;
  OCTAVO_TRY(const auto facts, catalog.facts(area));
  for (const auto& [name, entry] : facts) {
    auto stored = StoredPassword::parse_admin_entry(entry);
    if (!stored) return fail(ErrorCode::corrupted, "the stored password of admin \"" + name + "\" is not readable");
    admins.emplace(name, std::move(*stored));
  }
  return admins;
}

Expected<std::string> load_or_make(storage::Catalog& catalog, std::string_view name, std::size_t byte_count) {
  OCTAVO_TRY(auto stored, catalog.fact(secrets_area, name));
  if (stored) return *stored;
  std::string made = crypto::hex_encode(crypto::random_bytes(byte_count));
  OCTAVO_TRY_VOID(catalog.set_fact(secrets_area, name, made));
  return made;
}

Expected<UserDirectory::Admins> reconcile_configured(const config::Settings& settings, storage::Catalog& catalog) {
  OCTAVO_TRY(auto admins, read_admins(catalog, admins_area));
  if (settings.admins.empty()) {
    if (!admins.empty()) spdlog::info("{} admin(s) from the data folder: the configuration names none", admins.size());
    return admins;
  }

  for (const auto& [name, password] : settings.admins) {
    OCTAVO_TRY_VOID(check_admin(name, password));
    const auto found = admins.find(name);
    const std::optional<StoredPassword> before =
        found == admins.end() ? std::nullopt : std::optional<StoredPassword>(found->second);
    auto wanted = StoredPassword::parse_admin_entry(password);
    if (wanted) {
      if (before && before->admin_entry() == wanted->admin_entry()) continue;
    } else {
      if (up_to_date(before, password, settings.pbkdf2_iterations)) continue;
      wanted = StoredPassword::make(password, settings.pbkdf2_iterations);
    }
    OCTAVO_TRY_VOID(catalog.set_fact(admins_area, name, wanted->admin_entry()));
    admins.insert_or_assign(name, std::move(*wanted));
  }
  for (auto admin = admins.begin(); admin != admins.end();) {
    if (settings.admins.contains(admin->first)) {
      ++admin;
      continue;
    }
    spdlog::info("admin {:?} removed: the configuration no longer names it", admin->first);
    OCTAVO_TRY_VOID(catalog.erase_fact(admins_area, admin->first));
    admin = admins.erase(admin);
  }
  return admins;
}

}  // namespace

Expected<UserDirectory::Admins> reconcile_admins(const config::Settings& settings, storage::Catalog& catalog) {
  OCTAVO_TRY(auto admins, reconcile_configured(settings, catalog));
  OCTAVO_TRY(auto added, read_admins(catalog, added_admins_area));
  for (auto& [name, password] : added) {
    if (!settings.admins.contains(name)) admins.insert_or_assign(name, std::move(password));
  }
  return admins;
}

Expected<StoredPassword> store_admin(storage::Catalog& catalog, const std::string& name, const std::string& password,
                                     std::uint32_t iterations) {
  OCTAVO_TRY_VOID(check_admin(name, password));
  auto stored = StoredPassword::parse_admin_entry(password);
  if (!stored) stored = StoredPassword::make(password, iterations);
  OCTAVO_TRY_VOID(catalog.set_fact(added_admins_area, name, stored->admin_entry()));
  return *std::move(stored);
}

// An earlier configuration may have named it.
Expected<void> erase_admin(storage::Catalog& catalog, std::string_view name) {
  OCTAVO_TRY_VOID(catalog.erase_fact(admins_area, name));
  return catalog.erase_fact(added_admins_area, name);
}

Expected<std::string> load_cookie_secret(storage::Catalog& catalog) {
  return load_or_make(catalog, "cookie", 32);
}

Expected<std::string> load_server_uuid(storage::Catalog& catalog) {
  return load_or_make(catalog, "server_uuid", 16);
}

}  // namespace octavo::api::couch

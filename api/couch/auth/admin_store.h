#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/couch/auth/user_directory.h"
#include "config/settings.h"
#include "storage/catalog.h"

namespace octavo::api::couch {

/// Makes the admins in the catalog match the configuration (see Authenticator::create) and returns them, with those
/// that store_admin() added. Blocking and slow: PBKDF2. Errors: bad_request, those of the storage.
Expected<UserDirectory::Admins> reconcile_admins(const config::Settings& settings, storage::Catalog& catalog);

/// Stores an admin that the configuration does not name, or another password for it. `password` may be a hash in the
/// form of CouchDB's configuration. Blocking and slow: PBKDF2. Errors: bad_request, those of the storage.
Expected<StoredPassword> store_admin(storage::Catalog& catalog, const std::string& name, const std::string& password,
                                     std::uint32_t iterations);
Expected<void> erase_admin(storage::Catalog& catalog, std::string_view name);

/// The random secret for cookies if none is configured, created at the first call and kept in the catalog.
Expected<std::string> load_cookie_secret(storage::Catalog& catalog);

/// The server's id, 32 hexadecimal digits, created at the first call and kept in the catalog.
Expected<std::string> load_server_uuid(storage::Catalog& catalog);

}  // namespace octavo::api::couch

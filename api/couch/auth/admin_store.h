#pragma once

#include <string>

#include "api/couch/auth/user_directory.h"
#include "config/settings.h"
#include "storage/catalog.h"

namespace octavo::api::couch {

/// Makes the admins in the catalog match the configuration (see Authenticator::create) and returns them.
/// Blocking and slow: PBKDF2. Errors: bad_request, those of the storage.
Expected<UserDirectory::Admins> reconcile_admins(const config::Settings& settings, storage::Catalog& catalog);

/// The configured secret, otherwise a random one, created at the first call and kept in the catalog.
Expected<std::string> load_cookie_secret(const config::Settings& settings, storage::Catalog& catalog);

/// The server's id, 32 hexadecimal digits, created at the first call and kept in the catalog.
Expected<std::string> load_server_uuid(storage::Catalog& catalog);

}  // namespace octavo::api::couch

#pragma once

#include <string>

#include "api/couch/auth/user_directory.h"
#include "config/settings.h"
#include "storage/catalog.h"

namespace octavo::api::couch {

/// Brings the admins in the catalog in line with the configuration (see Authenticator::create) and returns them.
/// Blocking, slow: PBKDF2. Errors: bad_request, storage's.
Expected<UserDirectory::Admins> reconcile_admins(const config::Settings& settings, storage::Catalog& catalog);

/// The configured secret, else one made at random at first and kept in the catalog.
Expected<std::string> load_cookie_secret(const config::Settings& settings, storage::Catalog& catalog);

/// The server's id, made at first and kept in the catalog: 32 hexadecimal digits.
Expected<std::string> load_server_uuid(storage::Catalog& catalog);

}  // namespace octavo::api::couch

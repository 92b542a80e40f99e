#pragma once

#include <filesystem>

#include "base/error.h"

namespace octavo::server {

/// The PEM file in the data folder with the server's own certificate and its key, for a server that has no other.
///
/// The certificate is self-signed, for localhost, 127.0.0.1, ::1 and the name of this machine, and valid for ten years.
/// The file is made if it is missing, cannot be read, or has expired, and is kept otherwise, so that clients need to
/// trust the certificate only once. Only the server may read it. Errors are for the operator.
Expected<std::filesystem::path> ensure_development_certificate(const std::filesystem::path& data_dir);

}  // namespace octavo::server

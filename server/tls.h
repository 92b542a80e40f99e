#pragma once

#include <filesystem>
#include <memory>

#include <boost/asio/ssl/context.hpp>

#include "storage/error.h"

namespace octavo::server {

/// A server-side TLS context (1.2 and 1.3) from a PEM certificate chain and its PEM key. Errors say which file is
/// wrong.
Expected<std::shared_ptr<boost::asio::ssl::context>> make_tls_context(const std::filesystem::path& certificate,
                                                                      const std::filesystem::path& key);

}  // namespace octavo::server

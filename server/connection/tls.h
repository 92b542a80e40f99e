#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <boost/asio/ssl/context.hpp>

#include "base/error.h"

namespace octavo::server {

/// The certificate of one or more ports, with its key, as a server-side TLS context (1.2 and 1.3). It can be replaced
/// while the server runs, for connections that begin later. Thread-safe.
class ServerCertificate {
 public:
  using Context = std::shared_ptr<boost::asio::ssl::context>;

  /// From a PEM certificate chain and its PEM key, which may be in the same file. Errors name the file.
  static Expected<std::shared_ptr<ServerCertificate>> load(const std::filesystem::path& certificate,
                                                           const std::filesystem::path& key);
  explicit ServerCertificate(Context context) : context_(std::move(context)) {}

  /// Errors as for load(); then nothing has changed.
  Expected<void> reload(const std::filesystem::path& certificate, const std::filesystem::path& key);

  Context context() const {
    const std::lock_guard lock(mutex_);
    return context_;
  }
  /// The certificate without the rest of its chain, as PEM, for clients that are to trust it.
  std::string pem() const;

 private:
  mutable std::mutex mutex_;
  Context context_;
};

}  // namespace octavo::server

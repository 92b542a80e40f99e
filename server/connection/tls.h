#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>

#include <boost/asio/ssl/context.hpp>

#include "base/error.h"

namespace octavo::server {

/// A server-side TLS context (1.2 and 1.3) from a PEM certificate chain and its PEM key. Errors name the file.
Expected<std::shared_ptr<boost::asio::ssl::context>> make_tls_context(const std::filesystem::path& certificate,
                                                                      const std::filesystem::path& key);

/// The TLS context of a port. It can be replaced while the server runs, for connections that begin later. Thread-safe.
class TlsPort {
 public:
  using Context = std::shared_ptr<boost::asio::ssl::context>;

  explicit TlsPort(Context context) : context_(std::move(context)) {}
  Context current() const {
    const std::lock_guard lock(mutex_);
    return context_;
  }
  void replace(Context context) {
    const std::lock_guard lock(mutex_);
    context_.swap(context);
  }

 private:
  mutable std::mutex mutex_;
  Context context_;
};

}  // namespace octavo::server

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace octavo::api {

/// Whether the `Host` header rules out DNS rebinding, in which an attacker's name first resolves to a web page and then
/// to 127.0.0.1, so that the browser treats both as one site. Trusted are IP addresses, names without a dot, names
/// below `localhost` and `internal`, which cannot be registered, and `allowed`. The port is ignored. Thread-safe,
/// allocates nothing.
bool is_trusted_host(std::string_view host, std::span<const std::string> allowed);

}  // namespace octavo::api

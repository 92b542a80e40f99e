#pragma once

#include <span>
#include <string>
#include <string_view>

namespace octavo::api {

/// Whether a request with this header `Host` cannot come from a page that reaches this machine under a name of its own
/// making (DNS rebinding: the attacker's name first leads to the page, then to 127.0.0.1, and the browser sees one
/// site). Trusted are IP addresses, names without a dot, names below `localhost` and `internal`, which nobody can
/// register, and `allowed`. A port is left out of account. Thread-safe, allocates nothing.
bool is_trusted_host(std::string_view host, std::span<const std::string> allowed);

}  // namespace octavo::api

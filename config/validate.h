#pragma once

#include <expected>
#include <string>

#include "config/settings.h"

namespace octavo::config {

/// Checks, before a server starts, that settings are valid together: an address that other machines can reach needs an
/// admin, a certificate needs a key, and so on. The error says what to do. Checks whether the TLS files can be read; no
/// other effects.
std::expected<void, std::string> validate(const Settings& settings);

/// The part of these checks that applies to settings which change while a server runs.
std::expected<void, std::string> validate_change(const Settings& settings);

/// Whether `address` is an IPv4 or IPv6 address that only this machine can reach.
bool is_loopback(const std::string& address);

}  // namespace octavo::config

#pragma once

#include <expected>
#include <string>

#include "config/settings.h"

namespace octavo::config {

/// Whether settings that are each fine alone also make sense together, for a server that is about to start: an address
/// that only this machine can reach, or somebody who must log in; a key for every certificate; and so on. The error
/// says what to do. Looks whether the TLS files can be read; no other effects.
std::expected<void, std::string> validate(const Settings& settings);

/// Whether `address` is an IPv4 or IPv6 address that only this machine can reach.
bool is_loopback(const std::string& address);

}  // namespace octavo::config

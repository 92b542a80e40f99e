#pragma once

#include <chrono>
#include <string>

#include "base/error.h"

namespace octavo::server {

/// Checks a running server: GET `url` (http or https), within `timeout` for the whole exchange. Success is status 200.
/// The certificate is not verified, because the request goes to this machine.
Expected<void> check_health(const std::string& url, std::chrono::milliseconds timeout);

/// `octavo health`: returns 0 if the server is healthy; otherwise prints the reason to standard error and returns 1.
int run_health(const std::string& url, std::chrono::milliseconds timeout);

}  // namespace octavo::server

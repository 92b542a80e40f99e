#pragma once

#include <chrono>
#include <string>

#include "base/error.h"

namespace octavo::server {

/// Asks a running server how it is: GET `url` (http or https), within `timeout` for everything. Success is status 200.
/// The certificate is not verified: the question goes to this machine, and any answer but 200 is a failure anyway.
Expected<void> check_health(const std::string& url, std::chrono::milliseconds timeout);

/// For `octavo health`: 0 when healthy; else prints why to standard error and returns 1.
int run_health(const std::string& url, std::chrono::milliseconds timeout);

}  // namespace octavo::server

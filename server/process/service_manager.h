#pragma once

#include <string_view>

namespace octavo::server {

/// Tells the program that supervises this process its state, such as `READY=1`, by the protocol of systemd's sd_notify:
/// a datagram to the socket that the environment variable NOTIFY_SOCKET names. Without the variable, or if nothing
/// receives the datagram, nothing happens.
void notify_service_manager(std::string_view state);

}  // namespace octavo::server

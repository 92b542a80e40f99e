#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace octavo::server {

/// How much of the input is looked through for the first request: settings and the like come before it.
inline constexpr std::size_t http2_opening_bytes_max = 64 * 1024;

/// Whether a connection begins as those of clients that speak HTTP/2 without negotiation (RFC 9113 §3.4).
bool begins_http2(std::string_view input);
/// The stream of the first request. nullopt: more input is needed. Precondition: begins_http2().
std::optional<std::uint32_t> first_http2_stream(std::string_view input);
/// Appends the frames by which a server refuses the request, and asks for HTTP/1.1 (RFC 9113 §7).
void append_http_1_1_required(std::string& out, std::uint32_t stream);

}  // namespace octavo::server

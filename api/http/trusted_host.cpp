#include "api/http/trusted_host.h"

#include <algorithm>

#include <boost/asio/ip/address_v4.hpp>

#include "base/ascii_case.h"

namespace octavo::api {

namespace {

bool is_below(std::string_view name, std::string_view domain) {
  return name.size() > domain.size() && equals_ignoring_case(name.substr(name.size() - domain.size()), domain);
}

bool is_ipv4(std::string_view name) {
  boost::system::error_code invalid;
  boost::asio::ip::make_address_v4(name, invalid);
  return !invalid;
}

}  // namespace

bool is_trusted_host(std::string_view host, std::span<const std::string> allowed) {
  if (host.starts_with('[')) return true;  // an IPv6 address
  std::string_view name = host.substr(0, host.find(':'));
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.find('.') == std::string_view::npos || is_ipv4(name)) return true;
  if (is_below(name, ".localhost") || is_below(name, ".internal")) return true;
  return std::ranges::any_of(allowed, [&](const std::string& one) { return equals_ignoring_case(one, name); });
}

}  // namespace octavo::api

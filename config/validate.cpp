#include "config/validate.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "config/value_text.h"

namespace octavo::config {

namespace {

using Checked = std::expected<void, std::string>;
using Failure = std::unexpected<std::string>;

using AddressBytes = std::array<unsigned char, 16>;

// The address as IPv6; an IPv4 address is mapped into ::ffff:0:0/96.
std::optional<AddressBytes> parse_address(const std::string& text) {
  AddressBytes bytes{};
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  bytes[10] = bytes[11] = 0xff;
  if (inet_pton(AF_INET, text.c_str(), bytes.data() + 12) == 1) return bytes;
  return std::nullopt;
}

bool is_readable_file(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && std::ifstream(path).good();
}

Checked check_bind(const Settings& settings) {
  if (!parse_address(settings.bind)) {
    return Failure(
        fmt::format("server.bind: {} is not an IP address; use 127.0.0.1 or ::1 for this machine only, 0.0.0.0 or "
                    ":: for every interface",
                    quote(settings.bind)));
  }
  if (!is_loopback(settings.bind) && settings.admins.empty() && !settings.allow_public_without_auth) {
    return Failure(fmt::format(
        "server.bind: {} can be reached from other machines, but there is no admin: everybody could read and delete "
        "everything. Do one of these:\n"
        "  - name an admin: set OCTAVO_ADMIN_USER and OCTAVO_ADMIN_PASSWORD (or COUCHDB_USER and COUCHDB_PASSWORD), or "
        "add an [admins] table to the configuration file\n"
        "  - listen on this machine only: --bind 127.0.0.1\n"
        "  - if something in front of the server keeps strangers out: --allow-public-without-auth",
        settings.bind));
  }
  return {};
}

Checked check_allowed_hosts(const Settings& settings) {
  for (const auto& host : settings.allowed_hosts) {
    if (host.empty() || host.find_first_of("/:*[] ") != std::string::npos) {
      return Failure(fmt::format(
          "server.allowed_hosts: {} is not the name of a host; expected a name without scheme and port, such as "
          "db.example.com",
          quote(host)));
    }
  }
  return {};
}

Checked check_tls(const Settings& settings) {
  if (settings.tls_certificate.empty() && settings.tls_key.empty()) return {};
  if (settings.tls_key.empty()) return Failure("tls.certificate is set but tls.key is not: HTTPS needs both");
  if (settings.tls_certificate.empty()) return Failure("tls.key is set but tls.certificate is not: HTTPS needs both");
  if (!is_readable_file(settings.tls_certificate)) {
    return Failure(fmt::format("tls.certificate: cannot read the file {}", settings.tls_certificate.string()));
  }
  if (!is_readable_file(settings.tls_key)) {
    return Failure(fmt::format("tls.key: cannot read the file {}", settings.tls_key.string()));
  }
  return {};
}

Checked check_admins(const Settings& settings) {
  for (const auto& [name, password] : settings.admins) {
    if (name.empty()) return Failure("admins: a name is empty");
    // Basic authentication ends the name at the first colon.
    if (name.find(':') != std::string::npos) {
      return Failure(fmt::format("admins: {}: a name cannot hold a colon", quote(name)));
    }
    if (std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; })) {
      return Failure(fmt::format("admins: {}: a name cannot hold control characters", quote(name)));
    }
    if (password.empty()) return Failure(fmt::format("admins: the password of {} is empty", quote(name)));
  }
  return {};
}

bool looks_like_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_";
  return !text.empty() && text.find_first_not_of(alphabet) == std::string_view::npos;
}

Checked check_jwt_keys(const Settings& settings) {
  for (const auto& [name, key] : settings.jwt_keys) {
    const bool is_secret = name.starts_with("hs");
    const std::string_view algorithm = std::string_view(name).substr(0, name.find(':'));
    constexpr std::array<std::string_view, 9> algorithms{"hs256", "hs384", "hs512", "rs256", "rs384",
                                                         "rs512", "es256", "es384", "es512"};
    if (algorithm.size() == name.size() || std::ranges::find(algorithms, algorithm) == algorithms.end()) {
      return Failure(fmt::format(
          "jwt_keys: {}: a name is an algorithm and a key id: \"hs256:kid\", \"rs256:kid\" or \"es256:kid\", or the "
          "same with 384 or 512",
          quote(name)));
    }
    if (is_secret && !looks_like_base64(key)) {
      return Failure(fmt::format("jwt_keys: {}: expected a base64 secret", quote(name)));
    }
    if (!is_secret && key.find("-----BEGIN PUBLIC KEY-----") == std::string::npos) {
      return Failure(fmt::format("jwt_keys: {}: expected a PEM public key (-----BEGIN PUBLIC KEY-----)", quote(name)));
    }
  }
  return {};
}

Checked check_cosmos(const Settings& settings) {
  if (!settings.cosmos_enabled) return {};
  if (!settings.cosmos_bind.empty() && !parse_address(settings.cosmos_bind)) {
    return Failure(fmt::format("cosmos.bind: {} is not an IP address", quote(settings.cosmos_bind)));
  }
  if (settings.cosmos_port != 0 && settings.cosmos_port == settings.port) {
    return Failure(fmt::format("cosmos.port: {} is server.port too; the two APIs need a port each", settings.port));
  }
  const auto check_key = [](std::string_view name, std::string_view key) -> Checked {
    constexpr std::size_t key_text_bytes_min = 22;  // 16 bytes
    if (key.empty() || (looks_like_base64(key) && key.size() >= key_text_bytes_min)) return {};
    return Failure(
        fmt::format("{}: expected at least 16 random bytes in base64, such as `openssl rand -base64 32` "
                    "prints",
                    name));
  };
  if (settings.cosmos_key != emulator_key_name) {
    if (auto checked = check_key("cosmos.key", settings.cosmos_key); !checked) return checked;
  }
  if (auto checked = check_key("cosmos.secondary_key", settings.cosmos_secondary_key); !checked) return checked;
  return check_key("cosmos.read_only_key", settings.cosmos_read_only_key);
}

Checked check_cors_enabled(const Settings& settings) {
  if (!settings.cors_enabled || !settings.cors_origins.empty()) return {};
  return Failure(
      "cors.enabled: no origin is allowed yet; set cors.origins, for example --cors-origins https://app.example.com");
}

Checked check_cors_origins(const Settings& settings) {
  for (const auto& origin : settings.cors_origins) {
    if (origin == "*") continue;
    const auto host = origin.find("://");
    if (host == std::string::npos || host == 0 || host + 3 == origin.size() ||
        origin.find('/', host + 3) != std::string::npos) {
      return Failure(
          fmt::format("cors.origins: {} is not an origin; expected scheme://host or scheme://host:port with nothing "
                      "after it, or *",
                      quote(origin)));
    }
  }
  return {};
}

// A line break would begin another header.
Checked check_challenge(const Settings& settings) {
  constexpr std::size_t challenge_bytes_max = 256;
  const std::string& challenge = settings.challenge;
  const bool is_printable = std::ranges::all_of(challenge, [](char c) { return c >= ' ' && c <= '~'; });
  if (is_printable && challenge.size() <= challenge_bytes_max) return {};
  return Failure(
      fmt::format("auth.challenge: expected at most {} printable ASCII characters, such as Basic realm=\"couchdb\"",
                  challenge_bytes_max));
}

Checked check_jwt_claims(const Settings& settings) {
  for (const auto& claim : settings.jwt_required_claims) {
    const std::string_view name = std::string_view(claim).substr(0, claim.find('='));
    if (!name.empty() && name.find_first_of("{}\" ") == std::string_view::npos) continue;
    return Failure(
        fmt::format("auth.jwt_required_claims: \"{}\" is invalid: expected the name of a claim, or NAME=VALUE", claim));
  }
  return {};
}

Checked check_peruser(const Settings& settings) {
  const std::string& prefix = settings.peruser_prefix;
  const bool begins_well = !prefix.empty() && prefix.front() >= 'a' && prefix.front() <= 'z';
  if (begins_well && prefix.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_$()+-/") == std::string::npos &&
      prefix.size() <= 100) {
    return {};
  }
  return Failure(
      fmt::format("couch_peruser.database_prefix: {} cannot begin the name of a database; expected a lowercase letter, "
                  "then at most 99 of a-z, 0-9 and _$()+-/",
                  quote(prefix)));
}

Checked check_limits(const Settings& settings) {
  if (settings.default_q > settings.q_max) {
    return Failure(
        fmt::format("database.default_q: {} is more than database.q_max ({})", settings.default_q, settings.q_max));
  }
  if (settings.document_bytes_max > settings.request_body_bytes_max) {
    return Failure(
        fmt::format("database.document_bytes_max: {} is more than http.request_body_bytes_max ({}), so no request "
                    "could carry such a document",
                    format_size(settings.document_bytes_max), format_size(settings.request_body_bytes_max)));
  }
  if (settings.data_dir.empty()) return Failure("server.data_dir is empty");
  return {};
}

// The server owns every name in its folder, and removes those that it does not know.
Checked check_is_outside(const Settings& settings, std::string_view name, const std::filesystem::path& path) {
  if (path.empty()) return {};
  std::error_code failed;
  const auto folder = std::filesystem::weakly_canonical(path, failed);
  const auto data = std::filesystem::weakly_canonical(settings.data_dir, failed);
  if (failed) return Failure(fmt::format("{}: {}", name, failed.message()));
  const auto [in_data, rest] = std::ranges::mismatch(data, folder);
  if (in_data != data.end()) return {};
  return Failure(fmt::format("{}: {} is in server.data_dir ({}): choose a folder outside of it", name, path.string(),
                             settings.data_dir.string()));
}

Checked check_folders(const Settings& settings) {
  if (auto checked = check_is_outside(settings, "analytics.export_folder", settings.analytics_export_folder);
      !checked) {
    return checked;
  }
  return check_is_outside(settings, "backup.folder", settings.backup_folder);
}

}  // namespace

bool is_loopback(const std::string& address) {
  const auto bytes = parse_address(address);
  if (!bytes) return false;
  constexpr AddressBytes ipv6_loopback{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  constexpr std::array<unsigned char, 13> ipv4_loopback{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
  return *bytes == ipv6_loopback || std::equal(ipv4_loopback.begin(), ipv4_loopback.end(), bytes->begin());
}

Checked validate(const Settings& settings) {
  for (const auto check :
       {check_bind, check_allowed_hosts, check_tls, check_admins, check_jwt_keys, check_cosmos, check_cors_enabled,
        check_cors_origins, check_challenge, check_jwt_claims, check_peruser, check_limits, check_folders}) {
    if (auto checked = check(settings); !checked) return checked;
  }
  return {};
}

// Clients change one setting after the other, so CORS may be enabled before an origin is allowed.
Checked validate_change(const Settings& settings) {
  for (const auto check :
       {check_allowed_hosts, check_cors_origins, check_challenge, check_jwt_claims, check_peruser, check_limits}) {
    if (auto checked = check(settings); !checked) return checked;
  }
  return {};
}

}  // namespace octavo::config

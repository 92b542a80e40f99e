#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Parses and formats values. Parsing refuses surrounding blanks and values that do not fit. Parsing the result of a
/// format_ function gives the same value.
namespace octavo::config {

/// `42`. Decimal digits only.
std::optional<std::uint64_t> parse_whole_number(std::string_view text);

/// `true`, `false`, and forms common in shells and unit files: `yes`, `no`, `on`, `off`, `1`, `0`; in any case.
std::optional<bool> parse_boolean(std::string_view text);

/// Bytes: `4096`, `64KiB`, `8MB`, `20GiB`, `1TiB`. K, M, G, T are powers of 1000; Ki, Mi, Gi, Ti of 1024; in any case.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// `500ms`, `10s`, `2m`, `1h`, `7d`; a number without a unit is milliseconds.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/// `64MiB` if a power of 1024 divides it, else plain bytes.
std::string format_size(std::uint64_t bytes);

/// `75s`, `500ms`, `10m`: the largest unit up to hours that divides it.
std::string format_duration(std::chrono::milliseconds duration);

/// What a client is told about something too large: "has 9000000 bytes; the limit is 8MiB
/// (database.document_bytes_max)", or, if the size is unknown, "is larger than 8MiB (database.document_bytes_max)".
std::string over_limit(std::optional<std::uint64_t> bytes, std::uint64_t limit, std::string_view setting);

/// A TOML basic string with its quotes.
std::string quote(std::string_view text);

}  // namespace octavo::config

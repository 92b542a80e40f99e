#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "api/couch/server/server.h"
#include "base/digest.h"
#include "base/encoding.h"

namespace octavo::api::couch {

namespace {

/// Microseconds since 1970, each time more than before, also when the clock was put back.
std::uint64_t ascending_microseconds() {
  using namespace std::chrono;
  static std::atomic<std::uint64_t> last{0};
  const auto now =
      static_cast<std::uint64_t>(duration_cast<microseconds>(system_clock::now().time_since_epoch()).count());
  std::uint64_t before = last.load(std::memory_order_relaxed);
  std::uint64_t next = 0;
  do {
    next = std::max(now, before + 1);
  } while (!last.compare_exchange_weak(before, next, std::memory_order_relaxed));
  return next;
}

/// 16 random bytes with the version and the variant of RFC 9562, in hexadecimal.
std::string rfc_uuid(std::string bytes, unsigned version) {
  const auto with_bits = [&bytes](std::size_t position, unsigned kept, unsigned bits) {
    bytes[position] = static_cast<char>((static_cast<unsigned char>(bytes[position]) & kept) | bits);
  };
  with_bits(6, 0x0f, version << 4);
  with_bits(8, 0x3f, 0x80);
  return crypto::hex_encode(bytes);
}

std::string uuid_of_time() {
  using namespace std::chrono;
  std::string bytes = crypto::random_bytes(16);
  auto milliseconds_left =
      static_cast<std::uint64_t>(duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
  for (std::size_t i = 6; i-- > 0; milliseconds_left >>= 8) bytes[i] = static_cast<char>(milliseconds_left & 0xff);
  return rfc_uuid(std::move(bytes), 7);
}

}  // namespace

std::string new_uuid() {
  constexpr std::uint32_t counter_end = 0xfff000;
  thread_local std::string prefix;                   // NOLINT(misc-use-internal-linkage): local to the function
  thread_local std::uint32_t counter = counter_end;  // NOLINT(misc-use-internal-linkage)
  const std::string random = crypto::random_bytes(13);
  if (counter >= counter_end) {
    prefix = crypto::hex_encode(random);
    counter = 0;
  }
  // Random steps hide how many documents were created between two.
  counter += 1 + (static_cast<unsigned char>(random[0]) << 4 | static_cast<unsigned char>(random[1]) >> 4);
  std::string digits(3, '\0');
  for (std::size_t i = 0; i < 3; ++i) digits[i] = static_cast<char>(counter >> (16 - 8 * i) & 0xff);
  return prefix + crypto::hex_encode(digits);
}

std::string new_uuid(const config::Settings& settings) {
  switch (settings.uuid_algorithm) {
    case config::UuidAlgorithm::sequential:
      return new_uuid();
    case config::UuidAlgorithm::random:
      return crypto::hex_encode(crypto::random_bytes(16));
    case config::UuidAlgorithm::utc_random:
      return fmt::format("{:014x}{}", ascending_microseconds(), crypto::hex_encode(crypto::random_bytes(9)));
    case config::UuidAlgorithm::utc_id:
      return fmt::format("{:014x}{}", ascending_microseconds(), settings.utc_id_suffix);
    case config::UuidAlgorithm::uuid_v4:
      return rfc_uuid(crypto::random_bytes(16), 4);
    case config::UuidAlgorithm::uuid_v7:
      return uuid_of_time();
  }
  return new_uuid();
}

}  // namespace octavo::api::couch

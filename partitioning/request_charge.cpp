#include "partitioning/request_charge.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace octavo::partitioning {
namespace {

constexpr double kReadBase = 1.0;
constexpr double kReadPerKib = 0.09;       // 100 KB cost ten times what 1 KB costs
constexpr double kWriteBase = 4.95;
constexpr double kWritePerKib = 0.45;
constexpr double kWritePerProperty = 0.067;
constexpr double kReplaceFactor = 2.0;
constexpr double kScanBase = 2.1;
constexpr double kScanPerKey = 0.003;
constexpr double kScanPerDocument = 0.03;
constexpr double kScanPerKib = 0.04;
constexpr double kResultPerKib = 0.08;

double kib_beyond_first(std::size_t bytes) {
  return std::max(0.0, static_cast<double>(bytes) / 1024.0 - 1.0);
}

}  // namespace

RequestUnits charge_of_read(std::size_t body_bytes) {
  return kReadBase + kReadPerKib * kib_beyond_first(body_bytes);
}

RequestUnits charge_of_miss() {
  return kReadBase;
}

RequestUnits charge_of_write(const WriteWork& work) {
  const double once = kWriteBase + kWritePerKib * kib_beyond_first(work.body_bytes) +
                      kWritePerProperty * static_cast<double>(work.properties);
  return work.replaces ? kReplaceFactor * once : once;
}

RequestUnits charge_of_delete(std::size_t body_bytes) {
  return charge_of_write({.body_bytes = body_bytes});
}

RequestUnits charge_of_scan(std::uint64_t keys, std::uint64_t documents, std::uint64_t document_bytes,
                            std::uint64_t result_bytes) {
  return kScanBase + kScanPerKey * static_cast<double>(keys) + kScanPerDocument * static_cast<double>(documents) +
         kScanPerKib * static_cast<double>(document_bytes) / 1024.0 +
         kResultPerKib * static_cast<double>(result_bytes) / 1024.0;
}

RequestUnits charge_of_metadata() {
  return 1.0;
}

std::string format_charge(RequestUnits charge) {
  const auto hundredths = static_cast<std::uint64_t>(std::llround(std::max(0.0, charge) * 100));
  char digits[24];
  char* end = std::to_chars(digits, digits + sizeof digits, hundredths / 100).ptr;
  *end++ = '.';
  *end++ = static_cast<char>('0' + hundredths % 100 / 10);
  *end++ = static_cast<char>('0' + hundredths % 10);
  return {digits, end};
}

std::size_t count_properties(const char* json, std::size_t bytes) {
  // Every value but the containers themselves stands after a ':' or, in an array, after '[' or ','.
  std::size_t values = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    if (json[i] == '"') {
      for (++i; i < bytes && json[i] != '"'; ++i) {
        if (json[i] == '\\') ++i;
      }
    } else if (json[i] == ',') {
      ++values;
    }
  }
  return bytes > 2 ? values + 1 : 0;
}

}  // namespace octavo::partitioning

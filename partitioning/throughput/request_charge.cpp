#include "partitioning/throughput/request_charge.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace octavo::partitioning {
namespace {

// Azure's documentation: an item of 1 KB is read for 1 RU and written for some 5, one of 100 KB for 10 and 50.
constexpr double read_base = 1.0;
constexpr double read_per_kib = 0.09;
constexpr double write_base = 4.8;
constexpr double write_per_kib = 0.45;
// The others from the published charges of one application (docs/request-units.md).
constexpr double write_per_index_row = 0.45;
constexpr double scan_per_partition = 2.3;
constexpr double scan_per_predicate = 1.2;
constexpr double scan_per_key = 0.02;
constexpr double scan_per_document = 0.07;
constexpr double scan_per_kib = 0.02;
constexpr double result_per_kib = 0.02;
constexpr double function_per_millisecond = 1.0;

double kib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / 1024.0;
}

}  // namespace

RequestUnits charge_of_read(std::size_t body_bytes) {
  return read_base + read_per_kib * std::max(0.0, kib(body_bytes) - 1.0);
}

RequestUnits charge_of_miss() {
  return read_base;
}

RequestUnits charge_of_write(const WriteWork& work) {
  return write_base + charge_of_further_row(work);
}

RequestUnits charge_of_further_row(const WriteWork& work) {
  return write_per_kib * kib(work.body_bytes) + write_per_index_row * static_cast<double>(work.index_rows);
}

RequestUnits charge_of_scan(const ScanWork& work) {
  const double each = scan_per_partition + scan_per_predicate * static_cast<double>(work.predicates);
  return each * static_cast<double>(work.partitions) + scan_per_key * static_cast<double>(work.keys) +
         scan_per_document * static_cast<double>(work.documents) + scan_per_kib * kib(work.document_bytes) +
         result_per_kib * kib(work.result_bytes);
}

RequestUnits charge_of_function(std::chrono::nanoseconds time) {
  return function_per_millisecond * std::chrono::duration<double, std::milli>(time).count();
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

RequestUnits rounded_charge(RequestUnits charge) {
  return std::round(charge * 100) / 100;
}

}  // namespace octavo::partitioning

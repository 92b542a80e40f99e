#include "query/search/documents/number_terms.h"

#include <bit>
#include <limits>

namespace octavo::query::search {

namespace {

constexpr std::uint64_t double_sign_bit = 1ULL << 63;

// Maps numbers to unsigned integers with the same order.
std::uint64_t sortable(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number == 0 ? 0.0 : number);  // -0 is 0
  return (bits & double_sign_bit) != 0 ? ~bits : bits | double_sign_bit;
}
double unsortable(std::uint64_t value) {
  return std::bit_cast<double>((value & double_sign_bit) != 0 ? value & ~double_sign_bit : ~value);
}

Lucene::String term_of(std::uint64_t value, int shift) {
  const int letters = (63 - shift) / 7 + 1;
  Lucene::String term(static_cast<std::size_t>(letters) + 1, L' ');
  term[0] = static_cast<wchar_t>(L' ' + shift);
  value >>= shift;
  for (int i = letters; i >= 1; --i, value >>= 7)
    term[static_cast<std::size_t>(i)] = static_cast<wchar_t>(value & 0x7F);
  return term;
}

}  // namespace

Lucene::String number_term(double number, int shift) {
  return term_of(sortable(number), shift);
}

std::optional<double> number_of(std::wstring_view term) {
  if (term.size() != 11 || term[0] != L' ') return std::nullopt;
  std::uint64_t value = 0;
  for (const wchar_t letter : term.substr(1)) value = (value << 7) | (static_cast<std::uint64_t>(letter) & 0x7F);
  return unsortable(value);
}

std::vector<NumberTermRange> number_ranges(double lower, bool lower_inclusive, double upper, bool upper_inclusive) {
  std::vector<NumberTermRange> ranges;
  std::uint64_t low = sortable(lower);
  std::uint64_t high = sortable(upper);
  if (!lower_inclusive) {
    if (low == std::numeric_limits<std::uint64_t>::max()) return ranges;
    ++low;
  }
  if (!upper_inclusive) {
    if (high == 0) return ranges;
    --high;
  }
  if (low > high) return ranges;
  for (int shift = 0;; shift += number_step_bits) {
    const std::uint64_t mask = ((1ULL << number_step_bits) - 1) << shift;
    const bool last = shift + number_step_bits >= 64;
    // The parts of the range outside whole blocks of the next step.
    const bool below = (low & mask) != 0;
    const bool above = (high & mask) != mask;
    const std::uint64_t block = last ? 0 : 1ULL << (shift + number_step_bits);
    const std::uint64_t next_low = below ? (low | mask | ((1ULL << shift) - 1)) + 1 : low;
    const std::uint64_t next_high = above ? ((high >> shift) << shift & ~mask) - 1 : high;
    const bool ends = last || (below && next_low < low) || (above && next_high > high) || next_low > next_high ||
                      next_high - next_low + 1 < block;
    if (ends) {
      ranges.push_back({term_of(low, shift), term_of(high, shift)});
      return ranges;
    }
    if (below) ranges.push_back({term_of(low, shift), term_of(next_low - 1, shift)});
    if (above) ranges.push_back({term_of(next_high + 1, shift), term_of(high, shift)});
    low = next_low;
    high = next_high;
  }
}

}  // namespace octavo::query::search

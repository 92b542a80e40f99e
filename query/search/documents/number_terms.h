#pragma once

#include <cstdint>
#include <lucene++/LuceneHeaders.h>
#include <optional>
#include <string_view>
#include <vector>

namespace octavo::query::search {

/// Numbers as terms. A double is indexed as one term with all its bits and seven terms with fewer and fewer bits. A
/// range is then a few hundred terms at most, however many values are in it. Lucene's own numeric fields do the same
/// with four bits per step; eight bits halve the number of terms.
///
/// Format (number as terms):
///   term := (' ' + bits left out):char (7 bits):char…     sorts like the number
inline constexpr int number_step_bits = 8;

/// The term without the lowest `shift` bits, a multiple of number_step_bits.
Lucene::String number_term(double number, int shift);
/// The number of a term that has all bits; nullopt if bits are left out or it is not a number.
std::optional<double> number_of(std::wstring_view term);

/// The terms from `first` to `last`, both included.
struct NumberTermRange {
  Lucene::String first;
  Lucene::String last;
};
/// The terms that together cover exactly the numbers from `lower` to `upper`; an infinite bound is open.
std::vector<NumberTermRange> number_ranges(double lower, bool lower_inclusive, double upper, bool upper_inclusive);

}  // namespace octavo::query::search

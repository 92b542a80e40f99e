#pragma once

#include <cstdint>
#include <lucene++/LuceneHeaders.h>
#include <optional>
#include <string_view>
#include <vector>

namespace octavo::query::search {

/// Numbers as terms. A double is a term of its own and, with fewer and fewer of its bits, seven more: a range is then a
/// few hundred terms at most, whatever the number of values in it (as in Lucene's own numeric fields, which are of
/// four bits a step; eight make half of the terms).
///
///   term := (' ' + bits left out):char (7 bits):char…     sorts as the number
inline constexpr int number_step_bits = 8;

/// The term with the lowest `shift` bits left out; a multiple of number_step_bits.
Lucene::String number_term(double number, int shift);
/// Back, from a term without bits left out; nullopt: some of them are, or it is no number.
std::optional<double> number_of(std::wstring_view term);

/// Terms from `first` to `last`, both included.
struct NumberTermRange {
  Lucene::String first;
  Lucene::String last;
};
/// Terms whose numbers together are those from `lower` to `upper`; infinities are open ends.
std::vector<NumberTermRange> number_ranges(double lower, bool lower_inclusive, double upper, bool upper_inclusive);

}  // namespace octavo::query::search

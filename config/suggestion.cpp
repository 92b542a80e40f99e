#include "config/suggestion.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace octavo::config {

namespace {
// Longer words are not typing errors. Bounds the cost if a whole file ends up in a variable's name.
constexpr std::size_t word_length_max = 100;
}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment: three rows of the matrix are enough to find swapped neighbours.
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates) {
  if (word.empty() || word.size() > word_length_max) return std::nullopt;
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const auto distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = &candidate;
      best_distance = distance;
    }
  }
  if (best) return *best;
  // The shortest candidate that contains the word: for `key`, `tls.key` and not `auth.jwt_keys`.
  for (const auto& candidate : candidates) {
    if (word.size() >= 3 && candidate.find(word) != std::string::npos && (!best || candidate.size() < best->size())) {
      best = &candidate;
    }
  }
  return best ? std::optional(*best) : std::nullopt;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const auto candidate = closest(word, candidates);
  return candidate ? fmt::format("; did you mean \"{}\"?", *candidate) : std::string();
}

}  // namespace octavo::config

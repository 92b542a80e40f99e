#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace octavo::config {

/// How many single-character edits (insert, delete, replace, swap neighbours) turn `a` into `b`. O(|a|·|b|).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate somebody who typed `word` most likely meant; nothing when none is near. Near is: at most a third of
/// the word mistyped, or the word is a part of the candidate (`durability` for `storage.durability`).
std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates);

/// `; did you mean "x"?`, or an empty string: to end an error message with.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace octavo::config

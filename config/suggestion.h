#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace octavo::config {

/// The number of single-character edits (insert, delete, replace, swap neighbours) from `a` to `b`. O(|a|·|b|).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate most similar to the mistyped `word`; nullopt if none is similar. Similar means: at most a third of the
/// word (or two characters) is mistyped, or the candidate contains it (`storage.durability` for `durability`).
std::optional<std::string> closest(std::string_view word, std::span<const std::string> candidates);

/// `; did you mean "x"?`, or an empty string, for the end of an error message.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace octavo::config

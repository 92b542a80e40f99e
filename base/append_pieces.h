#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace octavo {

namespace pieces {

/// The size of a literal is known to the compiler, which then copies it without a call.
template <std::size_t N>
constexpr std::size_t size(const char (&)[N]) {
  return N - 1;
}
constexpr std::size_t size(std::string_view piece) {
  return piece.size();
}

template <std::size_t N>
char* copy(char* to, const char (&literal)[N]) {
  return std::char_traits<char>::copy(to, literal, N - 1) + (N - 1);
}
inline char* copy(char* to, std::string_view piece) {
  return std::char_traits<char>::copy(to, piece.data(), piece.size()) + piece.size();
}

}  // namespace pieces

/// Appends all pieces with one growth of `out`, and plain copies: rows of lists are made of many short pieces. A piece
/// is a literal or a std::string_view, and no part of `out`.
template <class... Pieces>
void append_pieces(std::string& out, const Pieces&... all) {
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + (pieces::size(all) + ...), [&](char* text, std::size_t) {
    char* at = text + before;
    ((at = pieces::copy(at, all)), ...);
    return static_cast<std::size_t>(at - text);
  });
}

}  // namespace octavo

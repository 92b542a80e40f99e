#pragma once

#include <array>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace octavo::server {

/// The shells completion_script() knows.
inline constexpr std::array<std::string_view, 3> completion_shells{"bash", "zsh", "fish"};

/// A completion script for `app` and its subcommands, or nothing for a shell not in completion_shells. Hidden
/// subcommands and options are left out. An option's type name says what to offer: `a|b|c` the words, `PATH` files,
/// else nothing.
std::string completion_script(const CLI::App& app, std::string_view shell);

}  // namespace octavo::server

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query/javascript/program.h"

namespace octavo::query::javascript {

/// A program of functions called `function 0`, `function 1`, ….
inline ProgramPtr program_of(const std::vector<std::string>& sources, std::string modules = "") {
  std::vector<Program::Function> functions;
  for (const auto& source : sources) {
    functions.push_back({.name = "function " + std::to_string(functions.size()), .source = source});
  }
  return std::make_shared<const Program>("database", std::move(functions), std::move(modules));
}
inline ProgramPtr program_of(std::string_view source) {
  return program_of(std::vector<std::string>{std::string(source)});
}

}  // namespace octavo::query::javascript

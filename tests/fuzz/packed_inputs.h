#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::fuzz {

/// Many inputs in one file, so that a corpus is one file and not a thousand:
///   pack := (size:u32le bytes)*
inline constexpr std::string_view pack_extension = ".pack";

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream.flush()) throw std::runtime_error("cannot write " + path.string());
}

inline void append_input(std::string& pack, std::string_view input) {
  for (int shift = 0; shift < 32; shift += 8) pack.push_back(static_cast<char>(input.size() >> shift));
  pack.append(input);
}

inline std::vector<std::string> inputs_of(std::string_view pack) {
  std::vector<std::string> inputs;
  while (!pack.empty()) {
    std::size_t size = 0;
    if (pack.size() < 4) throw std::runtime_error("a pack ends inside a size");
    for (std::size_t i = 0; i < 4; ++i) size |= std::size_t{static_cast<unsigned char>(pack[i])} << (8 * i);
    pack.remove_prefix(4);
    if (size > pack.size()) throw std::runtime_error("a pack ends inside an input");
    inputs.emplace_back(pack.substr(0, size));
    pack.remove_prefix(size);
  }
  return inputs;
}

}  // namespace octavo::fuzz

// octavo_fuzz_pack pack <folder> <file.pack>     all files of a folder become one
// octavo_fuzz_pack unpack <file.pack> <folder>   and back, for the fuzzer to start from
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "fuzz/packed_inputs.h"

int main(int argc, char** argv) try {
  namespace fs = std::filesystem;
  const std::string action = argc == 4 ? argv[1] : "";
  if (action == "pack") {
    std::vector<std::string> inputs;
    for (const auto& entry : fs::directory_iterator(argv[2])) {
      if (entry.is_regular_file()) inputs.push_back(octavo::fuzz::read_file(entry.path()));
    }
    std::ranges::sort(inputs);
    std::string pack;
    for (const std::string& input : inputs) octavo::fuzz::append_input(pack, input);
    octavo::fuzz::write_file(argv[3], pack);
    std::cout << inputs.size() << " inputs\n";
    return 0;
  }
  if (action == "unpack") {
    fs::create_directories(argv[3]);
    std::size_t number = 0;
    for (const std::string& input : octavo::fuzz::inputs_of(octavo::fuzz::read_file(argv[2]))) {
      octavo::fuzz::write_file(fs::path(argv[3]) / ("packed-" + std::to_string(number++)), input);
    }
    std::cout << number << " inputs\n";
    return 0;
  }
  std::cerr << "usage: octavo_fuzz_pack pack <folder> <file.pack> | unpack <file.pack> <folder>\n";
  return 2;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}

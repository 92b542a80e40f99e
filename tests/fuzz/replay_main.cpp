// Runs a target over its corpus: every file below the folders named, packs input by input. What is not there is passed
// over: a target need not have regressions.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "fuzz/packed_inputs.h"
#include "fuzz/target.h"

namespace {

void run(const std::string& input) {
  // A buffer of exactly this size: the address sanitizer sees a read beyond it.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) try {
  namespace fs = std::filesystem;
  std::size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
    std::vector<fs::path> files;
    if (fs::is_directory(argv[i])) {
      for (const auto& entry : fs::recursive_directory_iterator(argv[i])) {
        if (entry.is_regular_file()) files.push_back(entry.path());
      }
    } else if (fs::exists(argv[i])) {
      files.emplace_back(argv[i]);
    }
    std::ranges::sort(files);
    for (const fs::path& file : files) {
      std::cerr << file.filename().string() << '\n';
      const std::string content = octavo::fuzz::read_file(file);
      if (file.extension() != octavo::fuzz::pack_extension) {
        run(content);
        ++inputs;
        continue;
      }
      for (const std::string& input : octavo::fuzz::inputs_of(content)) {
        run(input);
        ++inputs;
      }
    }
  }
  std::cout << inputs << " inputs\n";
  // An empty corpus would pass whatever the product does.
  return inputs == 0 ? 1 : 0;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

/// The entry of each target: libFuzzer calls it, and so does the replay of the corpus. Always returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace octavo::fuzz {

/// Ends the process when a target finds that the product is wrong: the fuzzer keeps the input, the replay fails.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Takes small decisions from the front of an input; zeroes after its end.
class InputReader {
 public:
  explicit InputReader(std::string_view input) : input_(input) {}
  bool empty() const { return input_.empty(); }
  std::string_view rest() const { return input_; }
  std::uint8_t byte() {
    if (input_.empty()) return 0;
    const auto value = static_cast<std::uint8_t>(input_.front());
    input_.remove_prefix(1);
    return value;
  }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | byte();
    return value;
  }
  std::string_view bytes(std::size_t size) {
    const std::string_view taken = input_.substr(0, size);
    input_.remove_prefix(taken.size());
    return taken;
  }
  /// Up to the next line feed, which is taken too.
  std::string_view line() {
    const std::size_t end = input_.find('\n');
    const std::string_view taken = input_.substr(0, end);
    input_.remove_prefix(end == std::string_view::npos ? input_.size() : end + 1);
    return taken;
  }

 private:
  std::string_view input_;
};

}  // namespace octavo::fuzz

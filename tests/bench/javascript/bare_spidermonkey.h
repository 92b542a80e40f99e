#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace octavo::bench {

/// The least that a map of a document can cost: SpiderMonkey parses its JSON text, calls the function, and makes JSON
/// text of what is emitted. No limits, no UTF-8, nothing kept.
class BareSpiderMonkey {
 public:
  explicit BareSpiderMonkey(std::string_view function);
  ~BareSpiderMonkey();

  /// False when anything fails.
  bool map(std::string_view document);
  std::size_t emitted_units() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace octavo::bench

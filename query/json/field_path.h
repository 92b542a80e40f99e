#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "base/error.h"

namespace octavo::query {

/// The name of a possibly nested field as Mango writes it: `address.city`, `lines.0.sku`, `price\.net` (an escaped dot
/// is part of the name). Two spellings of one path compare equal. The empty path names the whole value.
class FieldPath {
 public:
  struct Part {
    std::string name;
    std::optional<std::size_t> index;  ///< set if the name is a whole number, which then also names an array element

    bool operator==(const Part& other) const { return name == other.name; }
    auto operator<=>(const Part& other) const { return name <=> other.name; }
  };

  FieldPath() = default;

  /// Errors: bad_request "Invalid field name: a..b" if a part is empty. The empty text is the empty path.
  static Expected<FieldPath> parse(std::string_view text);

  const std::vector<Part>& parts() const { return parts_; }
  const std::string& text() const { return text_; }  ///< as written, escapes included
  bool empty() const { return parts_.empty(); }
  /// True for the one-part path `name`.
  bool is(std::string_view name) const { return parts_.size() == 1 && parts_[0].name == name; }

  bool operator==(const FieldPath& other) const { return parts_ == other.parts_; }
  auto operator<=>(const FieldPath& other) const { return parts_ <=> other.parts_; }

 private:
  std::string text_;
  std::vector<Part> parts_;
};

/// Whether the path is in `_conflicts`, which is not part of a document's body.
inline bool is_of_conflicts(const FieldPath& path) {
  return !path.empty() && path.parts()[0].name == "_conflicts";
}

/// The result of following a path. `missing`: an object on the path lacks the member. `bad_path`: a value on the path
/// is not a container, or an array lacks the element. Mango distinguishes them (`$exists: false` matches only
/// `missing`).
struct FieldLookup {
  enum class Outcome : std::uint8_t { found, missing, bad_path };
  Outcome outcome = Outcome::missing;
  simdjson::dom::element value;  ///< set if found
  std::size_t passed = 0;        ///< members and elements that the search went by: its cost

  explicit operator bool() const { return outcome == Outcome::found; }
};

/// Follows `path` from `root`, beginning with part number `first_part`. Linear in the members of the objects and the
/// elements of the arrays on the path.
FieldLookup find_field(simdjson::dom::element root, const FieldPath& path, std::size_t first_part = 0);

}  // namespace octavo::query

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octavo::storage {

/// Unique keys of a database's documents, within each logical partition. A row for each value, beside the documents,
/// names the document that has it, so that a second document with it is refused (unique_key_violated).
class UniqueKeys {
 public:
  virtual ~UniqueKeys() = default;
  /// One digest of 16 bytes per unique key, computed from the key's identity and the body's values. Any thread.
  virtual std::vector<std::string> digests(std::string_view body) const = 0;
};

}  // namespace octavo::storage

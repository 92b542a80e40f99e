#pragma once

#include <optional>
#include <string_view>

#include "base/error.h"
#include "storage/document/document.h"

namespace octavo::storage {

/// Reads and edits of documents; the edits are committed together or not at all.
class DocumentTransaction {
 public:
  virtual ~DocumentTransaction() = default;
  /// The winner, with the edits made so far applied. Views live until the next call.
  virtual Expected<std::optional<DocumentView>> find(std::string_view id) = 0;
  virtual Expected<EditOutcome> apply(const DocumentWrite& write) = 0;
};

}  // namespace octavo::storage

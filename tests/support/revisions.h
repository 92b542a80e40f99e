#pragma once

#include <cstdint>
#include <string_view>

#include "storage/document/revision.h"

namespace octavo::tests {

inline storage::Revision rev(std::uint64_t generation, std::string_view hash) {
  return {generation, *storage::RevisionHash::from_text(hash)};
}

}  // namespace octavo::tests

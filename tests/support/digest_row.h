#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/digest.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::tests {

/// Puts the row of a long key as older versions did (long_key_tree.h).
inline Expected<void> put_digest_row(storage::WriteTransaction& transaction, storage::Tree tree, std::string_view key,
                                     std::string_view value) {
  using storage::long_key::prefix_bytes;
  OCTAVO_ASSERT(key.size() > prefix_bytes);
  std::string row(key.substr(0, prefix_bytes));
  row += crypto::hash(crypto::Digest::sha256, key).substr(0, 16);
  const auto key_size = static_cast<std::uint32_t>(key.size());
  std::string stored(sizeof key_size, '\0');
  std::memcpy(stored.data(), &key_size, sizeof key_size);
  stored.append(key.substr(prefix_bytes)).append(value);
  return transaction.put(tree, row, stored);
}

}  // namespace octavo::tests

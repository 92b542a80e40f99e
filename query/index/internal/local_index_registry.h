#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "query/index/local_indexes.h"
#include "query/json/parsed_document.h"

/// The rows that say which local indexes a physical partition has (local_indexes.h has their format).
namespace octavo::query::registry {

/// Of the rows of one kind: 'I', 'N' or 'S'.
std::string key(char kind);
/// Of one index.
std::string key(std::uint32_t number);

void append_u32(std::string& out, std::uint32_t value);
std::uint32_t read_u32(std::string_view bytes);

Expected<LocalIndexes::Indexes> load(const storage::Transaction& transaction, storage::Tree tree);
Expected<void> put(storage::WriteTransaction& transaction, storage::Tree tree, const LocalIndexes::Index& index);
/// Whoever has read the rows before shall read them again.
Expected<void> put_stamp(storage::WriteTransaction& transaction, storage::Tree tree);
/// Whether the value of an index's row says that it is ready.
bool says_ready(std::string_view value);

}  // namespace octavo::query::registry

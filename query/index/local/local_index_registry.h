#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "query/index/local/local_indexes.h"
#include "query/json/parsed_document.h"

/// The rows that define the local indexes of a physical partition (format: local_indexes.h).
namespace octavo::query::registry {

/// Key of the rows of one kind: 'I', 'N' or 'S'.
std::string key(char kind);
/// Key of one index's row.
std::string key(std::uint32_t number);

void append_u32(std::string& out, std::uint32_t value);
std::uint32_t read_u32(std::string_view bytes);

Expected<LocalIndexes::Indexes> load(const storage::Transaction& transaction, storage::Tree tree);
/// The number that was given last; 0: none was. `all`: the result of load(). Error corrupted: a new index could get the
/// number of another one, whose entries it would then have.
Expected<std::uint32_t> last_number(const storage::Transaction& transaction, storage::Tree tree,
                                    const LocalIndexes::Indexes& all);
Expected<void> put(storage::WriteTransaction& transaction, storage::Tree tree, const LocalIndexes::Index& index);
/// Makes all readers of the rows read them again.
Expected<void> put_stamp(storage::WriteTransaction& transaction, storage::Tree tree);
/// Whether the value of an index's row has the stage `ready`.
bool says_ready(std::string_view value);

}  // namespace octavo::query::registry

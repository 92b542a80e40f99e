#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace octavo::query::sql {

/// Keys of rows that are sorted like the entries of an index, by a walk up or `down` its entries: for rows of an index
/// that is gone (gone_rows.h), or whose walk was left (left_walk.h). Rows of one document follow each other by the
/// combination of a JOIN.
void append_entry(std::string& key, std::string_view entry, bool down);
/// Appends the combination.
void append_positions(std::string& key, std::span<const std::uint64_t> positions);
/// Appends what sorts behind the rows of an entry up to the combination at `positions`; none: behind all of them.
void append_position_behind(std::string& key, std::string_view entry, std::span<const std::uint64_t> positions,
                            bool down);

}  // namespace octavo::query::sql

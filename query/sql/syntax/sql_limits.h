#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace octavo::query::sql {

/// Limits of one query text; beyond them it is rejected. They are Azure Cosmos DB's where it has any (service limits
/// page).
inline constexpr std::size_t sql_text_bytes_max = 512 * 1024;
inline constexpr int sql_nesting_max = 128;       ///< nesting of expressions, subqueries and parentheses
inline constexpr unsigned sql_chain_max = 1'000;  ///< consecutive binary operators (AND and OR: unlimited)
inline constexpr std::size_t sql_nodes_max = 65'536;
inline constexpr std::size_t sql_parameters_max = 2'100;
inline constexpr std::size_t sql_in_items_max = 6'000;
inline constexpr std::size_t sql_joins_max = 10;
inline constexpr std::size_t sql_udf_calls_max = 10;
inline constexpr std::size_t sql_group_expressions_max = 21;
inline constexpr std::size_t sql_aggregates_max = 64;
inline constexpr std::size_t sql_order_items_max = 8;

/// Limits of the evaluation of one item; beyond them the query fails.
inline constexpr std::size_t sql_item_bytes_max = 64 * 1024 * 1024;   ///< values built
inline constexpr std::uint64_t sql_item_steps_max = 4'000'000;        ///< elements and rows of subqueries walked
inline constexpr std::chrono::milliseconds sql_item_time_max{2'000};  ///< processor time
inline constexpr std::size_t sql_replicate_bytes_max = 10'000;

/// Default bounds of a page of results.
inline constexpr std::size_t sql_page_bytes_max = 4 * 1024 * 1024;

}  // namespace octavo::query::sql

#pragma once

#include <cstdint>
#include <string>

#include <boost/json.hpp>

#include "analytics/channel/channel.h"
#include "analytics/duckdb/connection.h"
#include "analytics/sql/query_watch.h"

namespace octavo::analytics {

enum class ResultFormat : std::uint8_t { json, ndjson, csv, parquet };

struct SqlQuery {
  std::string sql;
  boost::json::array parameters;  ///< null, booleans, numbers and strings
  ResultFormat format = ResultFormat::json;
  /// Sends the checkpoint of the transaction first: FrameKind::reply, JSON {checkpoint}.
  bool tells_checkpoint = false;
  TimeLimit time{};
};

/// Runs exactly one SELECT statement in a transaction that only reads, and sends its result in pieces over the channel
/// (FrameKind::rows) while it comes: memory does not grow with it, and a reader that is slow slows the query down.
///
/// JSON: `{"columns":[…],"rows":[{…},…]}`; NDJSON: an object in each line; CSV: RFC 4180, with a line of names. Parquet
/// has its directory at the end, so DuckDB writes a file first, of at most `export_bytes_max`.
///
/// Errors: bad_request with the word invalid_sql: anything else than one SELECT, parameters; those of
/// QueryWatch::explain and of the disk.
Expected<void> run_sql_query(duckdb::Connection& connection, const SqlQuery& query, Channel& channel,
                             std::uint64_t export_bytes_max);

}  // namespace octavo::analytics

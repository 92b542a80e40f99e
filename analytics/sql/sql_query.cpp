#include "analytics/sql/sql_query.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analytics/duckdb/scratch.h"
#include "analytics/duckdb/value_writer.h"
#include "base/json_writer.h"

namespace octavo::analytics {

namespace {

using duckdb::Api;
using duckdb::Index;
using duckdb::Owned;
using duckdb::success;
using duckdb::ValueWriter;

constexpr std::size_t piece_bytes = 64ULL << 10;

// One row may be much larger than a piece.
Expected<void> send_piece(Channel& channel, std::string_view piece) {
  while (!piece.empty()) {
    OCTAVO_TRY_VOID(channel.send(FrameKind::rows, piece.substr(0, Channel::rows_bytes_max)));
    piece.remove_prefix(std::min(piece.size(), Channel::rows_bytes_max));
  }
  return {};
}

std::unexpected<Error> invalid(std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), "invalid_sql");
}

std::unexpected<Error> invalid(const char* text) {
  return invalid(std::string(text != nullptr ? text : "DuckDB cannot run the statement."));
}

Expected<Owned<duckdb::StatementHandle>> prepare_only_select(duckdb::Connection& connection, const std::string& sql) {
  const Api& api = connection.api();
  Owned<duckdb::ExtractedHandle> extracted(api.destroy_extracted);
  const Index count = api.extract_statements(connection.handle(), sql.c_str(), extracted.out());
  if (count == 0) {
    const char* const text = extracted ? api.extract_statements_error(extracted.get()) : nullptr;
    if (text == nullptr) return invalid("`sql` has no statement.");
    return invalid(text);
  }
  if (count != 1) return invalid(fmt::format("`sql` has {} statements: send one SELECT statement.", count));
  Owned<duckdb::StatementHandle> statement(api.destroy_prepare);
  const auto prepared = api.prepare_extracted_statement(connection.handle(), extracted.get(), 0, statement.out());
  // Types are looked at first: what is not allowed is not explained.
  if (statement && prepared == success &&
      api.prepared_statement_type(statement.get()) != duckdb::StatementType::select) {
    return invalid("Only a SELECT statement can be run here: the columns follow the documents.");
  }
  if (prepared != success) return invalid(api.prepare_error(statement.get()));
  return statement;
}

Expected<void> bind(const Api& api, duckdb::StatementHandle statement, const boost::json::array& parameters) {
  const Index wanted = api.nparams(statement);
  if (wanted != parameters.size()) {
    return invalid(fmt::format("The statement has {} parameters ($1, $2, … or ?), and `parameters` has {} values.",
                               wanted, parameters.size()));
  }
  for (Index position = 1; position <= parameters.size(); ++position) {
    const boost::json::value& value = parameters[position - 1];
    auto bound = success;
    if (value.is_null()) {
      bound = api.bind_null(statement, position);
    } else if (value.is_bool()) {
      bound = api.bind_boolean(statement, position, value.get_bool());
    } else if (value.is_int64()) {
      bound = api.bind_int64(statement, position, value.get_int64());
    } else if (value.is_number()) {
      bound = api.bind_double(statement, position, value.to_number<double>());
    } else if (value.is_string()) {
      bound = api.bind_varchar_length(statement, position, value.get_string().data(), value.get_string().size());
    } else {
      return invalid(fmt::format("Parameter {} must be null, a boolean, a number or a string.", position));
    }
    if (bound != success) return invalid(fmt::format("Parameter {} cannot be bound: call it ${}.", position, position));
  }
  return {};
}

/// Writes the rows of a result in its format.
class ResultWriter {
 public:
  static Expected<ResultWriter> create(const Api& api, duckdb::ResultData& result, ResultFormat format) {
    ResultWriter writer(format);
    for (Index column = 0; column < api.column_count(&result); ++column) {
      writer.names_.emplace_back(api.column_name(&result, column));
      Owned<duckdb::TypeHandle> type(api.destroy_logical_type);
      *type.out() = api.column_logical_type(&result, column);
      auto values = ValueWriter::create(api, type.get());
      if (!values) {
        return invalid(fmt::format("The column {} has a type that has no form in the reply: cast it to VARCHAR.",
                                   writer.names_.back()));
      }
      writer.values_.push_back(*std::move(values));
    }
    OCTAVO_TRY_VOID(writer.check_names());
    for (const std::string& name : writer.names_) {
      std::string key;
      append_json_string(key, name);
      writer.keys_.push_back(std::move(key));
    }
    return writer;
  }

  void begin(std::string& out) const {
    if (format_ == ResultFormat::json) {
      out += "{\"columns\":[";
      for (std::size_t column = 0; column < keys_.size(); ++column) {
        if (column > 0) out += ',';
        out += keys_[column];
      }
      out += "],\"rows\":[";
    } else if (format_ == ResultFormat::csv) {
      for (std::size_t column = 0; column < names_.size(); ++column) {
        if (column > 0) out += ',';
        out += '"';
        for (const char c : names_[column]) out.append(c == '"' ? 2 : 1, c);
        out += '"';
      }
      out += "\r\n";
    }
  }

  void append(std::string& out, const std::vector<duckdb::VectorHandle>& vectors, Index row) {
    if (format_ == ResultFormat::csv) {
      for (std::size_t column = 0; column < values_.size(); ++column) {
        if (column > 0) out += ',';
        values_[column].append_csv(out, vectors[column], row);
      }
      out += "\r\n";
      return;
    }
    if (format_ == ResultFormat::json) out += is_first_ ? "\n" : ",\n";
    is_first_ = false;
    out += '{';
    for (std::size_t column = 0; column < values_.size(); ++column) {
      if (column > 0) out += ',';
      out += keys_[column];
      out += ':';
      values_[column].append_json(out, vectors[column], row);
    }
    out += '}';
    if (format_ == ResultFormat::ndjson) out += '\n';
  }

  void end(std::string& out) const {
    if (format_ == ResultFormat::json) out += "\n]}\n";
  }

  std::size_t column_count() const { return names_.size(); }

 private:
  explicit ResultWriter(ResultFormat format) : format_(format) {}

  Expected<void> check_names() const {
    if (format_ == ResultFormat::csv) return {};
    auto sorted = names_;
    std::ranges::sort(sorted);
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice == sorted.end()) return {};
    return invalid(fmt::format("Two columns are called {}: give one another name with AS.", *twice));
  }

  ResultFormat format_;
  std::vector<std::string> names_;
  std::vector<std::string> keys_;  ///< the names as JSON
  std::vector<ValueWriter> values_;
  bool is_first_ = true;
};

Expected<void> send_rows(const Api& api, duckdb::Result& result, ResultWriter& writer, Channel& channel) {
  std::string piece;
  writer.begin(piece);
  std::vector<duckdb::VectorHandle> vectors(writer.column_count());
  while (true) {
    Owned<duckdb::ChunkHandle> chunk(api.destroy_data_chunk);
    *chunk.out() = api.fetch_chunk(result.data());
    if (!chunk) break;
    for (std::size_t column = 0; column < vectors.size(); ++column) {
      vectors[column] = api.data_chunk_get_vector(chunk.get(), column);
    }
    const Index rows = api.data_chunk_get_size(chunk.get());
    if (rows == 0) break;
    for (Index row = 0; row < rows; ++row) {
      writer.append(piece, vectors, row);
      if (piece.size() < piece_bytes) continue;
      OCTAVO_TRY_VOID(send_piece(channel, piece));
      piece.clear();
    }
  }
  if (auto error = result.error()) return std::unexpected(*std::move(error));
  writer.end(piece);
  OCTAVO_TRY_VOID(send_piece(channel, piece));
  return channel.send(FrameKind::end, {});
}

Expected<void> tell_checkpoint(duckdb::Connection& connection, Channel& channel) {
  OCTAVO_TRY(const auto rows, connection.rows("select checkpoint from octavo.state"));
  if (rows.empty()) return fail(ErrorCode::overloaded, "The table was not made yet: try again.");
  const boost::json::object told{{"checkpoint", rows.front().front().integer}};
  return channel.send(FrameKind::reply, boost::json::serialize(told));
}

Expected<void> run(duckdb::Connection& connection, const SqlQuery& query, Channel& channel) {
  const Api& api = connection.api();
  OCTAVO_TRY(auto transaction, duckdb::Transaction::begin(connection, true));
  if (query.tells_checkpoint) OCTAVO_TRY_VOID(tell_checkpoint(connection, channel));
  OCTAVO_TRY(const auto statement, prepare_only_select(connection, query.sql));
  OCTAVO_TRY_VOID(bind(api, statement.get(), query.parameters));
  Owned<duckdb::PendingHandle> pending(api.destroy_pending);
  if (api.pending_prepared_streaming(statement.get(), pending.out()) != success) {
    return invalid(api.pending_error(pending.get()));
  }
  duckdb::Result result(api);
  if (api.execute_pending(pending.get(), &result.data()) != success) {
    if (auto error = result.error()) return std::unexpected(*std::move(error));
    return invalid(api.pending_error(pending.get()));
  }
  OCTAVO_TRY(auto writer, ResultWriter::create(api, result.data(), query.format));
  return send_rows(api, result, writer, channel);
}

Expected<void> send_file(const duckdb::Scratch& file, Channel& channel) {
  std::ifstream in(file.path(), std::ios::binary);
  file.remove();  // what is open can be read
  std::string piece(Channel::rows_bytes_max, '\0');
  while (in) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    const auto count = static_cast<std::size_t>(in.gcount());
    if (count > 0) OCTAVO_TRY_VOID(channel.send(FrameKind::rows, std::string_view(piece).substr(0, count)));
  }
  if (!in.eof()) return fail(ErrorCode::io_failure, "The exported file cannot be read.");
  return channel.send(FrameKind::end, {});
}

Expected<void> run_export(duckdb::Connection& connection, const SqlQuery& query, Channel& channel,
                          const duckdb::Scratch& file, std::uint64_t bytes_max) {
  const Api& api = connection.api();
  OCTAVO_TRY(auto transaction, duckdb::Transaction::begin(connection, true));
  if (query.tells_checkpoint) OCTAVO_TRY_VOID(tell_checkpoint(connection, channel));
  {
    OCTAVO_TRY(const auto statement, prepare_only_select(connection, query.sql));
    OCTAVO_TRY_VOID(bind(api, statement.get(), query.parameters));
  }
  // It is one SELECT statement, so its brackets and quotes are closed; the line ends a comment.
  std::string_view sql = query.sql;
  const auto last = sql.find_last_not_of("; \t\r\n");
  sql = sql.substr(0, last == std::string_view::npos ? 0 : last + 1);
  const std::string copy =
      fmt::format("copy (\n{}\n) to {} (format parquet)", sql, duckdb::quoted_text(file.path().string()));
  Owned<duckdb::StatementHandle> statement(api.destroy_prepare);
  if (api.prepare(connection.handle(), copy.c_str(), statement.out()) != success) {
    return invalid(api.prepare_error(statement.get()));
  }
  OCTAVO_TRY_VOID(bind(api, statement.get(), query.parameters));
  duckdb::Result result(api);
  if (api.execute_prepared(statement.get(), &result.data()) != success) {
    if (auto error = result.error()) return std::unexpected(*std::move(error));
    return invalid("The result cannot be written as Parquet.");
  }
  if (file.bytes() > bytes_max) return std::unexpected(QueryWatch::too_large());
  // A client that reads slowly does not keep the rows of before in memory.
  OCTAVO_TRY_VOID(transaction.commit());
  return send_file(file, channel);
}

}  // namespace

Expected<void> run_sql_query(duckdb::Connection& connection, const SqlQuery& query, Channel& channel,
                             std::uint64_t export_bytes_max) {
  const bool is_export = query.format == ResultFormat::parquet;
  const duckdb::Scratch file(connection.instance());
  std::function<bool()> is_too_large;
  if (is_export) is_too_large = [&] { return file.bytes() > export_bytes_max; };
  const QueryWatch watch(connection, channel, query.time, std::move(is_too_large));
  auto done =
      is_export ? run_export(connection, query, channel, file, export_bytes_max) : run(connection, query, channel);
  if (!done) return std::unexpected(watch.explain(std::move(done).error()));
  return done;
}

}  // namespace octavo::analytics

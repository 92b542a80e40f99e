#include "analytics/table/table_appender.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "base/assert.h"

namespace octavo::analytics {

namespace {

using duckdb::Index;
using duckdb::TypeHandle;
using duckdb::VectorHandle;

template <class Value>
void copy(std::span<const Value> values, void* data) {
  if (!values.empty()) std::memcpy(data, values.data(), values.size_bytes());
}

}  // namespace

TableAppender::TableAppender(duckdb::Connection& connection, const char* schema, const char* table)
    : api_(connection.api()), appender_(api_.appender_destroy), chunk_(api_.destroy_data_chunk) {
  note(api_.appender_create(connection.handle(), schema, table, appender_.out()));
}

bool TableAppender::make_chunk() {
  if (chunk_) {
    api_.data_chunk_reset(chunk_.get());
    return true;
  }
  std::vector<duckdb::Owned<TypeHandle>> types;
  std::vector<TypeHandle> handles;
  for (Index column = 0; column < api_.appender_column_count(appender_.get()); ++column) {
    types.emplace_back(api_.destroy_logical_type);
    *types.back().out() = api_.appender_column_type(appender_.get(), column);
    handles.push_back(types.back().get());
  }
  *chunk_.out() = api_.create_data_chunk(handles.data(), handles.size());
  return static_cast<bool>(chunk_);
}

// False: there is no memory for it.
bool TableAppender::fill(VectorHandle vector, const ColumnBuffer& column) {
  if (!column.is_all_valid()) {
    api_.vector_ensure_validity_writable(vector);
    copy(column.validity(), api_.vector_get_validity(vector));
  }
  switch (column.kind()) {
    case ValueKind::boolean:
      copy(column.booleans(), api_.vector_get_data(vector));
      return true;
    case ValueKind::integer:
      copy(column.integers(), api_.vector_get_data(vector));
      return true;
    case ValueKind::number:
      copy(column.numbers(), api_.vector_get_data(vector));
      return true;
    case ValueKind::object:
      for (std::size_t n = 0; n < column.children().size(); ++n) {
        if (!fill(api_.struct_vector_get_child(vector, n), column.children()[n])) return false;
      }
      return true;
    case ValueKind::list: {
      const ColumnBuffer& elements = column.children().front();
      copy(column.lists(), api_.vector_get_data(vector));
      if (api_.list_vector_reserve(vector, elements.size()) != duckdb::success) return false;
      if (api_.list_vector_set_size(vector, elements.size()) != duckdb::success) return false;
      return fill(api_.list_vector_get_child(vector), elements);
    }
    default:
      for (Index row = 0; row < column.size(); ++row) {
        const std::string_view text = column.texts()[row];
        if (text.data() == nullptr) continue;  // NULL
        api_.vector_assign_string_element_len(vector, row, text.data(), text.size());
      }
      return true;
  }
}

void TableAppender::append(const std::vector<ColumnBuffer>& columns) {
  const std::size_t rows = columns.front().size();
  OCTAVO_ASSERT(rows <= rows_max);
  if (!ok_ || rows == 0) return;
  ok_ = rows <= api_.vector_size() && make_chunk() && columns.size() == api_.appender_column_count(appender_.get());
  for (std::size_t column = 0; ok_ && column < columns.size(); ++column) {
    ok_ = fill(api_.data_chunk_get_vector(chunk_.get(), column), columns[column]);
  }
  if (!ok_) return;
  api_.data_chunk_set_size(chunk_.get(), rows);
  note(api_.append_data_chunk(appender_.get(), chunk_.get()));
}

Expected<void> TableAppender::finish() {
  if (ok_) note(api_.appender_close(appender_.get()));
  if (ok_) return {};
  const char* const text = api_.appender_error(appender_.get());
  // DuckDB gives no type of the error here.
  const std::string_view reason = text != nullptr ? text : "Rows cannot be appended.";
  const bool is_memory = reason.contains("Out of Memory") || reason.contains("could not allocate");
  return std::unexpected(
      duckdb::error_of(is_memory ? duckdb::ErrorType::out_of_memory : duckdb::ErrorType::io, reason));
}

}  // namespace octavo::analytics

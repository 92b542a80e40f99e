#include "api/cosmos/hybrid_row/batch_rows.h"

#include <array>

#include <fmt/format.h>

#include "api/cosmos/hybrid_row/row.h"

namespace octavo::api::cosmos::hybrid_row {

namespace {

constexpr std::int32_t resource_type_of_items = 2;

constexpr std::array operation_columns{Column{"operationType", ColumnType::int32, Storage::fixed},
                                       Column{"resourceType", ColumnType::int32, Storage::fixed},
                                       Column{"partitionKey", ColumnType::text, Storage::variable},
                                       Column{"effectivePartitionKey", ColumnType::bytes, Storage::variable},
                                       Column{"id", ColumnType::text, Storage::variable},
                                       Column{"binaryId", ColumnType::bytes, Storage::variable},
                                       Column{"resourceBody", ColumnType::bytes, Storage::variable},
                                       Column{"indexingDirective", ColumnType::text, Storage::sparse},
                                       Column{"ifMatch", ColumnType::text, Storage::sparse},
                                       Column{"ifNoneMatch", ColumnType::text, Storage::sparse},
                                       Column{"timeToLiveInSeconds", ColumnType::int32, Storage::sparse},
                                       Column{"minimalReturnPreference", ColumnType::boolean, Storage::sparse}};
constexpr Schema operation_schema{2145473648, operation_columns};

constexpr std::array result_columns{Column{"statusCode", ColumnType::int32, Storage::fixed},
                                    Column{"subStatusCode", ColumnType::int32, Storage::fixed},
                                    Column{"eTag", ColumnType::text, Storage::variable},
                                    Column{"resourceBody", ColumnType::bytes, Storage::variable},
                                    Column{"retryAfterMilliseconds", ColumnType::uint32, Storage::sparse},
                                    Column{"requestCharge", ColumnType::float64, Storage::sparse}};
constexpr Schema result_schema{2145473649, result_columns};

/// The values of a row by the names of their columns.
class Fields {
 public:
  Fields(const Schema& schema, std::vector<Value> values) : schema_(schema), values_(std::move(values)) {}

  template <typename T>
  std::optional<T> find(std::string_view name) const {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (schema_.columns[i].name != name) continue;
      if (const T* value = std::get_if<T>(&values_[i])) return *value;
    }
    return std::nullopt;
  }

  std::string_view text(std::string_view name) const { return find<std::string_view>(name).value_or(""); }

 private:
  const Schema& schema_;
  std::vector<Value> values_;
};

std::unexpected<Error> unsupported(std::string_view name) {
  return fail(ErrorCode::bad_request, fmt::format("'{}' of an operation is not supported; leave it out.", name));
}

Value present(std::string_view text) {
  return text.empty() ? Value() : Value(text);
}

}  // namespace

Expected<OperationRow> read_operation(std::string_view row) {
  OCTAVO_TRY(auto values, read_row(row, operation_schema));
  const Fields fields(operation_schema, std::move(values));
  OperationRow operation;
  operation.operation_type = fields.find<std::int32_t>("operationType").value_or(-1);
  if (fields.find<std::int32_t>("resourceType") != resource_type_of_items) {
    return fail(ErrorCode::bad_request, "The resourceType of an operation of a batch must be 2 (an item).");
  }
  for (const auto* name : {"effectivePartitionKey", "binaryId"}) {
    if (fields.find<std::string_view>(name)) return unsupported(name);
  }
  if (fields.find<std::int32_t>("timeToLiveInSeconds")) return unsupported("timeToLiveInSeconds");
  operation.partition_key = fields.find<std::string_view>("partitionKey");
  operation.id = fields.text("id");
  operation.resource_body = fields.text("resourceBody");
  operation.if_match = fields.text("ifMatch");
  operation.if_none_match = fields.text("ifNoneMatch");
  operation.minimal = fields.find<bool>("minimalReturnPreference").value_or(false);
  return operation;
}

void append_result(std::string& out, const ResultRow& result) {
  const std::array<Value, result_columns.size()> values{
      result.status,
      result.substatus == 0 ? Value() : Value(result.substatus),
      present(result.etag),
      present(result.resource_body),
      result.retry_after_ms == 0 ? Value() : Value(result.retry_after_ms),
      result.request_charge};
  append_row(out, result_schema, values);
}

Expected<ResultRow> read_result(std::string_view row) {
  OCTAVO_TRY(auto values, read_row(row, result_schema));
  const Fields fields(result_schema, std::move(values));
  ResultRow result;
  result.status = fields.find<std::int32_t>("statusCode").value_or(0);
  result.substatus = fields.find<std::int32_t>("subStatusCode").value_or(0);
  result.etag = fields.text("eTag");
  result.resource_body = fields.text("resourceBody");
  result.request_charge = fields.find<double>("requestCharge").value_or(0);
  result.retry_after_ms = fields.find<std::uint32_t>("retryAfterMilliseconds").value_or(0);
  return result;
}

}  // namespace octavo::api::cosmos::hybrid_row

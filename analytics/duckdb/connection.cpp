#include "analytics/duckdb/connection.h"

#include <algorithm>
#include <array>
#include <system_error>

#include <fmt/format.h>

namespace octavo::analytics::duckdb {

namespace {

// Opening fails with these texts although the file may be sound.
constexpr std::array<std::string_view, 8> passing_causes{
    "lock", "emory", "open files", "space", "quota", "ermission denied", "Input/output", "already"};

bool may_be_sound(std::string_view text) {
  return std::ranges::any_of(passing_causes,
                             [&](std::string_view cause) { return text.find(cause) != std::string_view::npos; });
}

std::unexpected<Error> unopened(std::string reason) {
  const auto code = may_be_sound(reason) ? ErrorCode::io_failure : ErrorCode::corrupted;
  return fail(code, std::move(reason));
}

}  // namespace

Error error_of(ErrorType type, std::string_view text) {
  const auto is = [&](std::string_view words) { return text.find(words) != std::string_view::npos; };
  std::string reason(text);
  if (is("o space left") || is("uota exceeded")) return {ErrorCode::disk_full, std::move(reason), {}};
  switch (type) {
    case ErrorType::out_of_memory:
      return {ErrorCode::overloaded, std::move(reason), "memory_limit"};
    case ErrorType::interrupt:
      return {ErrorCode::timeout, std::move(reason), {}};
    case ErrorType::io:
      return {ErrorCode::io_failure, std::move(reason), {}};
    case ErrorType::fatal:
    case ErrorType::internal:
      return {ErrorCode::internal, std::move(reason), {}};
    case ErrorType::permission:
      break;
  }
  return {ErrorCode::bad_request, std::move(reason), {}};
}

Expected<std::shared_ptr<Instance>> Instance::open(const Api& api, const std::filesystem::path& file,
                                                   const InstanceLimits& limits) {
  return open(api, file.string(), file.string(), file.string() + ".export", limits);
}

// Files are attached after the instance is confined: their whole folder is allowed.
Expected<std::shared_ptr<Instance>> Instance::open_group(const Api& api, const std::filesystem::path& folder,
                                                         const InstanceLimits& limits) {
  return open(api, ":memory:", (folder / "group").string(), folder, limits);
}

Expected<std::shared_ptr<Instance>> Instance::open(const Api& api, const std::string& path, const std::string& beside,
                                                   const std::filesystem::path& allowed_folder,
                                                   const InstanceLimits& limits) {
  Owned<ConfigHandle> config(api.destroy_config);
  if (api.create_config(config.out()) != success) return out_of_memory();
  const std::array<std::pair<const char*, std::string>, 5> options{{
      {"memory_limit", fmt::format("{}B", limits.memory_bytes)},
      {"threads", std::to_string(limits.threads)},
      {"temp_directory", beside + ".tmp"},
      {"autoinstall_known_extensions", "false"},
      {"autoload_known_extensions", "false"},
  }};
  for (const auto& [name, value] : options) {
    if (api.set_config(config.get(), name, value.c_str()) != success) {
      return fail(ErrorCode::internal, fmt::format("DuckDB does not take the option {}={}.", name, value));
    }
  }
  std::shared_ptr<Instance> instance(new Instance(api, beside + ".export"));
  char* text = nullptr;
  if (api.open_ext(path.c_str(), instance->database_.out(), config.get(), &text) == success) {
    OCTAVO_TRY_VOID(instance->confine(allowed_folder, limits));
    return instance;
  }
  std::string reason = text != nullptr ? text : "DuckDB cannot open the file.";
  api.free(text);
  return unopened(std::move(reason));
}

Expected<void> Instance::attach(const std::filesystem::path& file, std::string_view as) {
  auto attached = run(fmt::format("attach {} as {}", quoted_text(file.string()), quoted_name(as)));
  if (attached) return attached;
  return unopened(std::move(attached).error().reason);
}

Expected<void> Instance::detach(std::string_view as) {
  return run(fmt::format("detach {}", quoted_name(as)));
}

// As statements: as an option at the opening, the limit of temporary files is shown but not kept (1.5.6). Afterwards
// nothing outside of the file and its export folder can be read or written, and no statement changes any of this.
Expected<void> Instance::confine(const std::filesystem::path& allowed_folder, const InstanceLimits& limits) {
  std::error_code failed;
  std::filesystem::remove_all(export_folder(), failed);
  std::filesystem::create_directories(export_folder(), failed);
  if (failed) return fail(ErrorCode::io_failure, "The folder for exports: " + failed.message());
  OCTAVO_TRY_VOID(run(fmt::format("set allowed_directories = [{}]", quoted_text(allowed_folder.string() + "/"))));
  OCTAVO_TRY_VOID(run(fmt::format("set max_temp_directory_size = '{}B'", limits.temporary_bytes)));
  OCTAVO_TRY_VOID(run("set enable_external_access = false"));
  return run("set lock_configuration = true");
}

Expected<void> Instance::run(const std::string& sql) {
  OCTAVO_TRY(auto connection, Connection::open(shared_from_this()));
  return connection.run(sql);
}

std::optional<Error> Result::error() {
  const char* const text = api_->result_error(&data_);
  if (text == nullptr) return std::nullopt;
  return error_of(api_->result_error_type(&data_), text);
}

Expected<Connection> Connection::open(std::shared_ptr<Instance> instance) {
  Connection connection(std::move(instance));
  const DatabaseHandle database = connection.instance_->handle();
  if (connection.api().connect(database, connection.connection_.out()) != success) return out_of_memory();
  return connection;
}

Expected<void> Connection::run(const std::string& sql) {
  Result result(api());
  if (api().query(handle(), sql.c_str(), &result.data()) == success) return {};
  auto error = result.error();
  return std::unexpected(error ? *std::move(error) : Error{ErrorCode::internal, "A statement failed: " + sql, {}});
}

Expected<std::vector<std::vector<SimpleValue>>> Connection::rows(const std::string& sql,
                                                                 std::optional<std::string_view> parameter) {
  const Api& functions = api();
  Owned<StatementHandle> statement(functions.destroy_prepare);
  if (functions.prepare(handle(), sql.c_str(), statement.out()) != success) {
    const char* const text = functions.prepare_error(statement.get());
    return fail(ErrorCode::internal, text != nullptr ? text : sql);
  }
  if (parameter) functions.bind_varchar_length(statement.get(), 1, parameter->data(), parameter->size());
  Result result(functions);
  if (functions.execute_prepared(statement.get(), &result.data()) != success) {
    auto error = result.error();
    return std::unexpected(error ? *std::move(error) : Error{ErrorCode::internal, sql, {}});
  }
  const Index columns = functions.column_count(&result.data());
  std::vector<bool> is_text(columns);
  for (Index column = 0; column < columns; ++column) {
    Owned<TypeHandle> type(functions.destroy_logical_type);
    *type.out() = functions.column_logical_type(&result.data(), column);
    is_text[column] = functions.get_type_id(type.get()) == Type::text;
  }
  std::vector<std::vector<SimpleValue>> rows;
  while (true) {
    Owned<ChunkHandle> chunk(functions.destroy_data_chunk);
    *chunk.out() = functions.fetch_chunk(result.data());
    if (!chunk) return rows;
    const Index size = functions.data_chunk_get_size(chunk.get());
    const std::size_t first = rows.size();
    rows.resize(first + size, std::vector<SimpleValue>(columns));
    for (Index column = 0; column < columns; ++column) {
      const VectorHandle vector = functions.data_chunk_get_vector(chunk.get(), column);
      const std::uint64_t* const valid = functions.vector_get_validity(vector);
      const void* const data = functions.vector_get_data(vector);
      for (Index row = 0; row < size; ++row) {
        if (valid != nullptr && (valid[row / 64] >> (row % 64) & 1) == 0) continue;
        SimpleValue& value = rows[first + row][column];
        value.is_null = false;
        if (is_text[column]) {
          value.text = static_cast<const StringValue*>(data)[row].view();
        } else {
          value.integer = static_cast<const std::int64_t*>(data)[row];
        }
      }
    }
  }
}

Expected<Transaction> Transaction::begin(Connection& connection, bool read_only) {
  OCTAVO_TRY_VOID(connection.run(read_only ? "begin transaction read only" : "begin transaction"));
  return Transaction(connection);
}

Expected<void> Transaction::commit() {
  return std::exchange(connection_, nullptr)->run("commit");
}

namespace {

std::string quoted(std::string_view text, char quote) {
  std::string result(1, quote);
  for (const char c : text) result.append(c == quote ? 2 : 1, c);
  return result + quote;
}

}  // namespace

std::string quoted_name(std::string_view name) {
  return quoted(name, '"');
}

std::string quoted_text(std::string_view text) {
  return quoted(text, '\'');
}

}  // namespace octavo::analytics::duckdb

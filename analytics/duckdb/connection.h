#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analytics/duckdb/duckdb_api.h"
#include "base/error.h"

namespace octavo::analytics::duckdb {

/// A handle that is given back when it goes out of scope. The function takes the handle's address, as all of DuckDB's
/// do.
template <class Handle, class Outcome = void>
class Owned {
 public:
  using Destroy = Outcome (*)(Handle*);
  explicit Owned(Destroy destroy) : destroy_(destroy) {}
  Owned(Owned&& other) noexcept : destroy_(other.destroy_), handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(destroy_, other.destroy_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) static_cast<void>(destroy_(&handle_));
  }

  Handle get() const { return handle_; }
  Handle* out() { return &handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  Destroy destroy_;
  Handle handle_ = nullptr;
};

/// What an instance may use, and where its temporary files are.
struct InstanceLimits {
  std::uint64_t memory_bytes = 0;
  std::uint64_t temporary_bytes = 0;
  std::size_t threads = 1;
};

/// A file of DuckDB that is open, or an instance to which files of one folder are attached. It reads and writes no
/// other file but those of its export folder and temporary ones, both beside it, and no statement can change its
/// configuration. Thread-safe; connections must be gone before it is.
class Instance : public std::enable_shared_from_this<Instance> {
 public:
  /// Opens or creates the file. Errors: io_failure (another process has it open, memory, descriptors, the disk:
  /// may pass), corrupted.
  static Expected<std::shared_ptr<Instance>> open(const Api& api, const std::filesystem::path& file,
                                                  const InstanceLimits& limits);
  /// An instance without a file, for those of the folder, which is created.
  static Expected<std::shared_ptr<Instance>> open_group(const Api& api, const std::filesystem::path& folder,
                                                        const InstanceLimits& limits);
  /// Opens or creates a file of the folder under a name. Errors: as open(). Precondition: made by open_group().
  Expected<void> attach(const std::filesystem::path& file, std::string_view as);
  Expected<void> detach(std::string_view as);

  const Api& api() const { return api_; }
  DatabaseHandle handle() const { return database_.get(); }
  /// Where a query may leave its result as a file, and is removed from at once. Empty when the file is opened.
  const std::filesystem::path& export_folder() const { return export_folder_; }

 private:
  static Expected<std::shared_ptr<Instance>> open(const Api& api, const std::string& path, const std::string& beside,
                                                  const std::filesystem::path& allowed_folder,
                                                  const InstanceLimits& limits);
  Expected<void> confine(const std::filesystem::path& allowed_folder, const InstanceLimits& limits);
  Expected<void> run(const std::string& sql);
  Instance(const Api& api, std::filesystem::path export_folder)
      : api_(api), export_folder_(std::move(export_folder)), database_(api.close) {}

  const Api& api_;
  const std::filesystem::path export_folder_;
  Owned<DatabaseHandle> database_;
};

/// The result of a statement, freed with it. May stand for an error.
class Result {
 public:
  explicit Result(const Api& api) : api_(&api) {}
  Result(Result&& other) noexcept : api_(other.api_), data_(std::exchange(other.data_, {})) {}
  Result& operator=(Result&&) = delete;
  ~Result() { api_->destroy_result(&data_); }

  ResultData& data() { return data_; }
  /// Why the result ends; nullopt: nothing has failed so far.
  std::optional<Error> error();

 private:
  const Api* api_;
  ResultData data_{};
};

/// The value of a simple column: text, a number, or nothing.
struct SimpleValue {
  bool is_null = true;
  std::int64_t integer = 0;
  std::string text;
};

/// One thread at a time, except interrupt().
class Connection {
 public:
  /// Errors: overloaded.
  static Expected<Connection> open(std::shared_ptr<Instance> instance);

  const Api& api() const { return instance_->api(); }
  ConnectionHandle handle() const { return connection_.get(); }
  const Instance& instance() const { return *instance_; }
  /// Ends what runs on the connection, with an error. Any thread.
  void interrupt() const { api().interrupt(connection_.get()); }

  /// Runs one statement without a result of interest. Errors: as error_of().
  Expected<void> run(const std::string& sql);
  /// The rows of a statement of ours, whose columns are BIGINT, UBIGINT or VARCHAR; `$1` is the parameter.
  Expected<std::vector<std::vector<SimpleValue>>> rows(const std::string& sql,
                                                       std::optional<std::string_view> parameter = std::nullopt);

 private:
  explicit Connection(std::shared_ptr<Instance> instance)
      : instance_(std::move(instance)), connection_(instance_->api().disconnect) {}

  std::shared_ptr<Instance> instance_;
  Owned<ConnectionHandle> connection_;
};

/// A transaction that is rolled back unless it was committed.
class Transaction {
 public:
  static Expected<Transaction> begin(Connection& connection, bool read_only);
  Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction() {
    if (connection_ != nullptr) static_cast<void>(connection_->run("rollback"));
  }
  Expected<void> commit();

 private:
  explicit Transaction(Connection& connection) : connection_(&connection) {}
  Connection* connection_;
};

/// `"name"` and `'text'` for SQL.
std::string quoted_name(std::string_view name);
std::string quoted_text(std::string_view text);

/// DuckDB's error in the server's terms: overloaded for lack of memory, timeout if it was interrupted, io_failure and
/// disk_full, internal, and bad_request for the rest, which a statement is to blame for.
Error error_of(ErrorType type, std::string_view text);

}  // namespace octavo::analytics::duckdb

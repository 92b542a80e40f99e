#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

/// The part of DuckDB's C API that Octavo uses, as functions of a library that is loaded while the program runs. The
/// names, numbers and layouts are those of the documentation of the C API, without the prefix `duckdb_`.
namespace octavo::analytics::duckdb {

using Index = std::uint64_t;
using State = int;  ///< 0: success
inline constexpr State success = 0;

// What the library hands out; only it knows what they point to.
using DatabaseHandle = struct DatabaseTag*;
using ConnectionHandle = struct ConnectionTag*;
using ConfigHandle = struct ConfigTag*;
using StatementHandle = struct StatementTag*;
using ExtractedHandle = struct ExtractedTag*;
using PendingHandle = struct PendingTag*;
using AppenderHandle = struct AppenderTag*;
using ChunkHandle = struct ChunkTag*;
using VectorHandle = struct VectorTag*;
using TypeHandle = struct TypeTag*;

/// `duckdb_result`: the caller's memory, the library's content.
struct ResultData {
  Index unused_counts[3];
  void* unused_columns;
  char* unused_error;
  void* internal;
};

struct ListEntry {
  std::uint64_t offset;
  std::uint64_t length;
};

/// A string of a vector: up to `inlined_max` bytes stand in it, longer ones elsewhere.
struct StringValue {
  StringValue(const StringValue&) = delete;  // view() may refer to it
  static constexpr std::uint32_t inlined_max = 12;
  std::uint32_t length;
  char inlined[4];
  union {
    char inlined_rest[8];
    const char* pointer;
  };
  std::string_view view() const {
    return {length <= inlined_max ? reinterpret_cast<const char*>(this) + sizeof length : pointer, length};
  }
};
static_assert(sizeof(StringValue) == 16);

struct HugeInteger {
  std::uint64_t lower;
  std::int64_t upper;
};

enum class Type : int {
  boolean = 1,
  int8 = 2,
  int16 = 3,
  int32 = 4,
  int64 = 5,
  uint8 = 6,
  uint16 = 7,
  uint32 = 8,
  uint64 = 9,
  float32 = 10,
  float64 = 11,
  timestamp = 12,
  date = 13,
  time = 14,
  int128 = 16,
  text = 17,
  blob = 18,
  decimal = 19,
  timestamp_s = 20,
  timestamp_ms = 21,
  timestamp_ns = 22,
  enumeration = 23,
  list = 24,
  structure = 25,
  map = 26,
  uuid = 27,
  timestamp_tz = 31,
  uint128 = 32,
  array = 33,
  null = 36
};

enum class StatementType : int { select = 1 };
enum class PendingState : int { ready = 0, not_ready = 1, error = 2, no_tasks = 3 };
/// Those that are told apart.
enum class ErrorType : int { io = 28, interrupt = 29, fatal = 30, internal = 31, out_of_memory = 33, permission = 34 };

/// The functions by name. Loaded once, never unloaded: an Api may be used by any thread until the process ends.
struct Api {
  const char* (*library_version)();
  void (*free)(void*);

  State (*create_config)(ConfigHandle*);
  State (*set_config)(ConfigHandle, const char* name, const char* value);
  void (*destroy_config)(ConfigHandle*);
  State (*open_ext)(const char* path, DatabaseHandle*, ConfigHandle, char** error);
  void (*close)(DatabaseHandle*);
  State (*connect)(DatabaseHandle, ConnectionHandle*);
  void (*disconnect)(ConnectionHandle*);
  void (*interrupt)(ConnectionHandle);

  State (*query)(ConnectionHandle, const char* sql, ResultData*);
  void (*destroy_result)(ResultData*);
  const char* (*result_error)(ResultData*);
  ErrorType (*result_error_type)(ResultData*);
  Index (*column_count)(ResultData*);
  const char* (*column_name)(ResultData*, Index);
  TypeHandle (*column_logical_type)(ResultData*, Index);
  ChunkHandle (*fetch_chunk)(ResultData);

  Index (*extract_statements)(ConnectionHandle, const char* sql, ExtractedHandle*);
  const char* (*extract_statements_error)(ExtractedHandle);
  State (*prepare_extracted_statement)(ConnectionHandle, ExtractedHandle, Index, StatementHandle*);
  void (*destroy_extracted)(ExtractedHandle*);
  State (*prepare)(ConnectionHandle, const char* sql, StatementHandle*);
  const char* (*prepare_error)(StatementHandle);
  void (*destroy_prepare)(StatementHandle*);
  StatementType (*prepared_statement_type)(StatementHandle);
  Index (*nparams)(StatementHandle);
  State (*bind_null)(StatementHandle, Index);
  State (*bind_boolean)(StatementHandle, Index, bool);
  State (*bind_int64)(StatementHandle, Index, std::int64_t);
  State (*bind_double)(StatementHandle, Index, double);
  State (*bind_varchar_length)(StatementHandle, Index, const char*, Index);
  State (*execute_prepared)(StatementHandle, ResultData*);
  State (*pending_prepared_streaming)(StatementHandle, PendingHandle*);
  PendingState (*pending_execute_task)(PendingHandle);
  const char* (*pending_error)(PendingHandle);
  State (*execute_pending)(PendingHandle, ResultData*);
  void (*destroy_pending)(PendingHandle*);

  Index (*vector_size)();
  ChunkHandle (*create_data_chunk)(TypeHandle*, Index);
  void (*data_chunk_reset)(ChunkHandle);
  void (*data_chunk_set_size)(ChunkHandle, Index);
  Index (*data_chunk_get_size)(ChunkHandle);
  VectorHandle (*data_chunk_get_vector)(ChunkHandle, Index);
  void (*destroy_data_chunk)(ChunkHandle*);
  void* (*vector_get_data)(VectorHandle);
  std::uint64_t* (*vector_get_validity)(VectorHandle);
  void (*vector_ensure_validity_writable)(VectorHandle);
  void (*vector_assign_string_element_len)(VectorHandle, Index, const char*, Index);
  State (*list_vector_reserve)(VectorHandle, Index);
  State (*list_vector_set_size)(VectorHandle, Index);
  VectorHandle (*list_vector_get_child)(VectorHandle);
  VectorHandle (*array_vector_get_child)(VectorHandle);
  VectorHandle (*struct_vector_get_child)(VectorHandle, Index);

  Type (*get_type_id)(TypeHandle);
  void (*destroy_logical_type)(TypeHandle*);
  char* (*logical_type_get_alias)(TypeHandle);
  std::uint8_t (*decimal_scale)(TypeHandle);
  Type (*decimal_internal_type)(TypeHandle);
  Type (*enum_internal_type)(TypeHandle);
  std::uint32_t (*enum_dictionary_size)(TypeHandle);
  char* (*enum_dictionary_value)(TypeHandle, Index);
  TypeHandle (*list_type_child_type)(TypeHandle);
  TypeHandle (*array_type_child_type)(TypeHandle);
  Index (*array_type_array_size)(TypeHandle);
  TypeHandle (*map_type_key_type)(TypeHandle);
  TypeHandle (*map_type_value_type)(TypeHandle);
  Index (*struct_type_child_count)(TypeHandle);
  char* (*struct_type_child_name)(TypeHandle, Index);
  TypeHandle (*struct_type_child_type)(TypeHandle, Index);

  State (*appender_create)(ConnectionHandle, const char* schema, const char* table, AppenderHandle*);
  const char* (*appender_error)(AppenderHandle);
  State (*appender_close)(AppenderHandle);
  State (*appender_destroy)(AppenderHandle*);
  Index (*appender_column_count)(AppenderHandle);
  TypeHandle (*appender_column_type)(AppenderHandle, Index);
  State (*append_data_chunk)(AppenderHandle, ChunkHandle);
};

/// The release whose layouts and files are known: another minor version is refused.
inline constexpr std::string_view version_prefix = "v1.5.";
/// SHA-256 of the library in the npm package that scripts/install-analytics.sh fetches.
inline constexpr std::string_view known_library_sha256 =
    "3f4962cdd266eab2b479a5b5a4a6d063d279b2954ae814ed00385d553b747633";

/// Loads the library. Its file must have `sha256` (hexadecimal); an empty one means known_library_sha256. Blocks for
/// some 0.3 s. Errors: unsupported with the word analytics_library, and a reason that says what to do: there is no such
/// file, another checksum, another version, a function is missing.
Expected<const Api*> load_library(const std::filesystem::path& file, std::string_view sha256);

}  // namespace octavo::analytics::duckdb

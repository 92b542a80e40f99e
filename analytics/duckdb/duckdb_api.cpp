#include "analytics/duckdb/duckdb_api.h"

#include <array>
#include <dlfcn.h>
#include <fstream>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/encoding.h"

namespace octavo::analytics::duckdb {

namespace {

constexpr std::string_view how_to_get_it =
    "`scripts/install-analytics.sh` fetches the right one; the setting analytics.library says where it is.";

std::unexpected<Error> unusable(std::string reason) {
  return fail(ErrorCode::unsupported, std::move(reason), "analytics_library");
}

// The file is large: it is not read into memory as a whole.
Expected<std::string> sha256_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    return unusable(fmt::format("DuckDB's library is not at {}. {}", file.string(), how_to_get_it));
  }
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::vector<char> block(1 << 20);
  std::array<unsigned char, 32> digest{};
  bool ok = context && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  while (ok && in) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    ok = EVP_DigestUpdate(context.get(), block.data(), static_cast<std::size_t>(in.gcount())) == 1;
  }
  ok = ok && !in.bad() && EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) == 1;
  if (!ok) return unusable(fmt::format("DuckDB's library at {} cannot be read.", file.string()));
  return crypto::hex_encode({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

/// Looks functions up by name, and remembers the first that is missing.
class Functions {
 public:
  explicit Functions(void* library) : library_(library) {}

  template <class Function>
  void find(const char* name, Function& function) {
    void* const found = dlsym(library_, name);
    if (found == nullptr && missing_.empty()) missing_ = name;
    function = reinterpret_cast<Function>(found);
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

void find_all(Functions& functions, Api& api) {
#define OCTAVO_DUCKDB_FUNCTION(name) functions.find("duckdb_" #name, api.name)
  OCTAVO_DUCKDB_FUNCTION(free);
  OCTAVO_DUCKDB_FUNCTION(create_config);
  OCTAVO_DUCKDB_FUNCTION(set_config);
  OCTAVO_DUCKDB_FUNCTION(destroy_config);
  OCTAVO_DUCKDB_FUNCTION(open_ext);
  OCTAVO_DUCKDB_FUNCTION(close);
  OCTAVO_DUCKDB_FUNCTION(connect);
  OCTAVO_DUCKDB_FUNCTION(disconnect);
  OCTAVO_DUCKDB_FUNCTION(interrupt);
  OCTAVO_DUCKDB_FUNCTION(query);
  OCTAVO_DUCKDB_FUNCTION(destroy_result);
  OCTAVO_DUCKDB_FUNCTION(result_error);
  OCTAVO_DUCKDB_FUNCTION(result_error_type);
  OCTAVO_DUCKDB_FUNCTION(column_count);
  OCTAVO_DUCKDB_FUNCTION(column_name);
  OCTAVO_DUCKDB_FUNCTION(column_logical_type);
  OCTAVO_DUCKDB_FUNCTION(fetch_chunk);
  OCTAVO_DUCKDB_FUNCTION(extract_statements);
  OCTAVO_DUCKDB_FUNCTION(extract_statements_error);
  OCTAVO_DUCKDB_FUNCTION(prepare_extracted_statement);
  OCTAVO_DUCKDB_FUNCTION(destroy_extracted);
  OCTAVO_DUCKDB_FUNCTION(prepare);
  OCTAVO_DUCKDB_FUNCTION(prepare_error);
  OCTAVO_DUCKDB_FUNCTION(destroy_prepare);
  OCTAVO_DUCKDB_FUNCTION(prepared_statement_type);
  OCTAVO_DUCKDB_FUNCTION(nparams);
  OCTAVO_DUCKDB_FUNCTION(bind_null);
  OCTAVO_DUCKDB_FUNCTION(bind_boolean);
  OCTAVO_DUCKDB_FUNCTION(bind_int64);
  OCTAVO_DUCKDB_FUNCTION(bind_double);
  OCTAVO_DUCKDB_FUNCTION(bind_varchar_length);
  OCTAVO_DUCKDB_FUNCTION(execute_prepared);
  OCTAVO_DUCKDB_FUNCTION(pending_prepared_streaming);
  OCTAVO_DUCKDB_FUNCTION(pending_execute_task);
  OCTAVO_DUCKDB_FUNCTION(pending_error);
  OCTAVO_DUCKDB_FUNCTION(execute_pending);
  OCTAVO_DUCKDB_FUNCTION(destroy_pending);
  OCTAVO_DUCKDB_FUNCTION(vector_size);
  OCTAVO_DUCKDB_FUNCTION(create_data_chunk);
  OCTAVO_DUCKDB_FUNCTION(data_chunk_reset);
  OCTAVO_DUCKDB_FUNCTION(data_chunk_set_size);
  OCTAVO_DUCKDB_FUNCTION(data_chunk_get_size);
  OCTAVO_DUCKDB_FUNCTION(data_chunk_get_vector);
  OCTAVO_DUCKDB_FUNCTION(destroy_data_chunk);
  OCTAVO_DUCKDB_FUNCTION(vector_get_data);
  OCTAVO_DUCKDB_FUNCTION(vector_get_validity);
  OCTAVO_DUCKDB_FUNCTION(vector_ensure_validity_writable);
  OCTAVO_DUCKDB_FUNCTION(vector_assign_string_element_len);
  OCTAVO_DUCKDB_FUNCTION(list_vector_reserve);
  OCTAVO_DUCKDB_FUNCTION(list_vector_set_size);
  OCTAVO_DUCKDB_FUNCTION(list_vector_get_child);
  OCTAVO_DUCKDB_FUNCTION(array_vector_get_child);
  OCTAVO_DUCKDB_FUNCTION(struct_vector_get_child);
  OCTAVO_DUCKDB_FUNCTION(get_type_id);
  OCTAVO_DUCKDB_FUNCTION(destroy_logical_type);
  OCTAVO_DUCKDB_FUNCTION(logical_type_get_alias);
  OCTAVO_DUCKDB_FUNCTION(decimal_scale);
  OCTAVO_DUCKDB_FUNCTION(decimal_internal_type);
  OCTAVO_DUCKDB_FUNCTION(enum_internal_type);
  OCTAVO_DUCKDB_FUNCTION(enum_dictionary_size);
  OCTAVO_DUCKDB_FUNCTION(enum_dictionary_value);
  OCTAVO_DUCKDB_FUNCTION(list_type_child_type);
  OCTAVO_DUCKDB_FUNCTION(array_type_child_type);
  OCTAVO_DUCKDB_FUNCTION(array_type_array_size);
  OCTAVO_DUCKDB_FUNCTION(map_type_key_type);
  OCTAVO_DUCKDB_FUNCTION(map_type_value_type);
  OCTAVO_DUCKDB_FUNCTION(struct_type_child_count);
  OCTAVO_DUCKDB_FUNCTION(struct_type_child_name);
  OCTAVO_DUCKDB_FUNCTION(struct_type_child_type);
  OCTAVO_DUCKDB_FUNCTION(appender_create);
  OCTAVO_DUCKDB_FUNCTION(appender_error);
  OCTAVO_DUCKDB_FUNCTION(appender_close);
  OCTAVO_DUCKDB_FUNCTION(appender_destroy);
  OCTAVO_DUCKDB_FUNCTION(appender_column_count);
  OCTAVO_DUCKDB_FUNCTION(appender_column_type);
  OCTAVO_DUCKDB_FUNCTION(append_data_chunk);
#undef OCTAVO_DUCKDB_FUNCTION
}

}  // namespace

Expected<const Api*> load_library(const std::filesystem::path& file, std::string_view sha256) {
  OCTAVO_TRY(const std::string found, sha256_of(file));
  const std::string_view wanted = sha256.empty() ? known_library_sha256 : sha256;
  if (found != wanted) {
    return unusable(
        fmt::format("The library at {} has the SHA-256 checksum {}, and not {}: it is another build or is damaged. {} "
                    "For a build of your own, set analytics.library_sha256.",
                    file.string(), found, wanted, how_to_get_it));
  }
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return unusable(fmt::format("The library at {} cannot be loaded: {}. {}", file.string(),
                                why != nullptr ? why : "unknown", how_to_get_it));
  }
  static Api api{};
  Functions functions(library);
  functions.find("duckdb_library_version", api.library_version);
  const std::string version = api.library_version != nullptr ? api.library_version() : "";
  if (!version.starts_with(version_prefix)) {
    return unusable(fmt::format("The library at {} is DuckDB {}; this server needs a version {}x. {}", file.string(),
                                version.empty() ? "of an unknown version" : version, version_prefix, how_to_get_it));
  }
  find_all(functions, api);
  if (!functions.missing().empty()) {
    return unusable(
        fmt::format("The library at {} has no function {}. {}", file.string(), functions.missing(), how_to_get_it));
  }
  return &api;
}

}  // namespace octavo::analytics::duckdb

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::config {

/// The highest `document_bytes_max` that may be set: no stored body is larger.
inline constexpr std::uint64_t document_bytes_most = 1ULL << 30;

/// Value of cosmos.key that means the published key of Microsoft's emulator.
inline constexpr std::string_view emulator_key_name = "emulator";

/// When a write is acknowledged.
enum class Durability : std::uint8_t {
  commit,    ///< after fsync (default)
  relaxed,   ///< data synced, the last commits may be lost on power failure; never corrupts
  ephemeral  ///< nothing is synced: for tests
};

/// The schemes of the Cosmos DB API's port.
enum class CosmosTls : std::uint8_t {
  automatic,  ///< HTTP and HTTPS with a certificate of the server's own; with `tls_certificate`: HTTPS only
  both,       ///< HTTP and HTTPS
  off         ///< HTTP only
};

/// How large bodies of documents are stored.
enum class Compression : std::uint8_t {
  zstd,  ///< compressed, where that saves enough
  none
};

/// When stores are compacted.
enum class CompactionMode : std::uint8_t {
  automatic,  ///< when they have become sparse, and on request
  manual      ///< on request only
};

enum class LogFormat : std::uint8_t { text, json };

/// How the CouchDB API makes ids of documents and the replies of `/_uuids`. The numbers are positions in the table's
/// choices.
enum class UuidAlgorithm : std::uint8_t { sequential, random, utc_random, utc_id, uuid_v4, uuid_v7 };

/// Where each setting was given: "cors.enabled" → "--cors-enabled", "admins.ann" → "octavo.toml:3". Two equal settings
/// may come from different sources, so this is not compared.
struct SettingSources {
  std::map<std::string, std::string, std::less<>> by_name;
  bool operator==(const SettingSources&) const { return true; }
};

/// All settings, with their defaults. Filled by load() from file, environment and flags, in this order: later values
/// override earlier ones. Settings that can change while the server runs are read through LiveSettings
/// (live_settings.h).
///
/// Names, ranges and descriptions are in setting_table.cpp: a field without a row there cannot be set.
struct Settings {
  // [server]
  std::filesystem::path data_dir = "data";
  std::string bind = "127.0.0.1";
  std::uint16_t port = 5984;  ///< of the CouchDB API; 0 = any free port, printed in the READY line
  /// Names allowed in the header `Host` while there is no admin and `bind` is loopback. Local names are always allowed.
  std::vector<std::string> allowed_hosts;
  std::uint16_t io_threads = 0;      ///< 0 = one per processor
  std::uint16_t worker_threads = 0;  ///< 0 = one per processor
  std::uint16_t writer_threads = 0;  ///< 0 = two per processor
  std::chrono::milliseconds shutdown_timeout_ms{5000};

  // [tls]
  std::filesystem::path tls_certificate;  ///< PEM chain; empty = plain HTTP
  std::filesystem::path tls_key;

  // [auth]
  std::map<std::string, std::string> admins;  ///< name → password as configured; only its PBKDF2 hash is stored
  bool require_valid_user = false;
  bool admin_only_all_dbs = true;
  bool allow_public_without_auth = false;  ///< allow a non-loopback bind without admins
  std::chrono::seconds session_timeout_s{600};
  std::string cookie_secret;  ///< empty = random, kept in the data folder
  std::vector<std::string> jwt_required_claims;
  std::string jwt_roles_claim_path;  ///< empty = the claim `_couchdb.roles`
  std::map<std::string, std::string>
      jwt_keys;           ///< "hs256:kid" → base64 secret; "rs256:kid", "es256:kid" → PEM public key; also 384 and 512
  std::string challenge;  ///< WWW-Authenticate of replies 401; empty = `Basic realm="server"`, see the table
  std::string proxy_secret;  ///< of a proxy that authenticates users; empty = none does
  std::uint32_t pbkdf2_iterations = 50'000;

  // [cosmos]
  bool cosmos_enabled = true;
  std::string cosmos_bind;           ///< empty = as `bind`
  std::uint16_t cosmos_port = 8081;  ///< of the Cosmos DB API; 0 = any free port, in the READY line
  CosmosTls cosmos_tls = CosmosTls::automatic;
  std::string cosmos_key;            ///< base64, or emulator_key_name; none: the emulator's key, on loopback
  std::string cosmos_secondary_key;  ///< base64; equal to the first, for key rotation
  std::string cosmos_read_only_key;  ///< base64; for reading only
  std::uint64_t cosmos_item_bytes_max = 2ULL << 20;

  // [http]
  std::size_t request_head_bytes_max = 64ULL << 10;
  std::size_t request_body_bytes_max = 64ULL << 20;
  std::size_t connections_max = 20'000;
  std::size_t requests_in_flight_max = 2'000;  ///< beyond: 503 + Retry-After; streaming followers do not count
  std::chrono::milliseconds header_timeout_ms{10'000};
  std::chrono::milliseconds body_timeout_ms{60'000};  ///< without progress
  std::chrono::milliseconds idle_timeout_ms{75'000};
  std::chrono::milliseconds send_timeout_ms{60'000};  ///< a client that does not read
  std::size_t compression_bytes_min = 1'400;          ///< replies below this are never compressed
  bool decode_plus_to_space = true;                   ///< in paths of the CouchDB API

  // [cors]
  bool cors_enabled = false;
  std::vector<std::string> cors_origins;
  bool cors_credentials = false;
  std::vector<std::string> cors_methods{"GET", "PUT", "POST", "HEAD", "DELETE"};
  std::vector<std::string> cors_headers;
  std::chrono::seconds cors_max_age_s{600};

  // [database]
  std::uint32_t default_q = 1;
  std::uint32_t q_max = 64;
  std::size_t document_bytes_max = 8ULL << 20;
  std::uint64_t logical_partition_bytes_max = 20ULL << 30;
  std::uint64_t physical_partition_bytes_max = 50ULL << 30;  ///< a larger one is split
  std::chrono::seconds split_source_kept_s{60};   ///< files of a former partition stay for requests that read them
  bool merge = true;                              ///< merge neighbouring physical partitions that stay small
  std::chrono::seconds merge_after_s{24 * 3600};  ///< when they were small for so long
  std::uint32_t revs_limit = 1000;
  std::chrono::seconds replaced_kept_s{24 * 3600};  ///< replaced revisions can be read so long; 0: they are not kept
  std::uint32_t replaced_share_max = 20;            ///< percent of the documents' bytes that they may take
  std::uint32_t documents_per_bulk_max = 100'000;
  bool enforce_throughput = true;  ///< refuse requests (429) beyond the provisioned throughput

  // [storage]
  Durability durability = Durability::commit;
  Compression compression = Compression::zstd;
  std::size_t open_partitions_max = 500;
  std::uint64_t map_bytes_initial = 16ULL << 20;
  std::size_t queued_bytes_max = 512ULL << 20;  ///< for writes that wait for the disk, of all databases together
  CompactionMode compaction = CompactionMode::automatic;
  std::uint32_t compaction_share = 50;  ///< percent of a file that a compaction must return, to be done automatically
  std::uint64_t compaction_rate = 0;    ///< bytes per second, also of a backup; 0: no limit

  // [backup]
  std::filesystem::path backup_folder;  ///< empty = none

  // [uuids]
  UuidAlgorithm uuid_algorithm = UuidAlgorithm::sequential;
  std::string utc_id_suffix;
  std::uint32_t uuids_max = 1000;  ///< in one reply of `/_uuids`

  // [couch_peruser]
  bool peruser_enabled = false;
  bool peruser_delete_databases = false;
  std::string peruser_prefix = "userdb-";
  std::uint32_t peruser_q = 1;

  // [query]
  std::uint32_t find_limit_default = 25;
  bool find_strict = false;                  ///< refuse what CouchDB's Mango refuses
  std::size_t sort_bytes_max = 64ULL << 20;  ///< memory for a sort without an index

  // [advice]
  bool advice_record = true;  ///< count queries by shape, for the partition advisor

  // [analytics]
  bool analytics_enabled = false;
  std::filesystem::path analytics_library;  ///< of DuckDB; empty = libduckdb.so beside the program
  std::string analytics_library_sha256;     ///< of a build of one's own; empty = the known one
  std::uint64_t analytics_memory_limit = 1ULL << 30;
  std::uint64_t analytics_max_temp_size = 4ULL << 30;
  std::chrono::milliseconds analytics_query_timeout_ms{30'000};
  std::uint32_t analytics_max_queries = 4;
  std::chrono::milliseconds analytics_export_timeout_ms{3'600'000};
  std::uint32_t analytics_max_exports = 2;
  std::filesystem::path analytics_export_folder;  ///< empty = none

  // [javascript]
  std::chrono::milliseconds javascript_call_time_ms{5'000};  ///< for one call of a design function
  std::size_t javascript_heap_bytes_max = 128ULL << 20;      ///< for all functions of one thread
  std::size_t javascript_stack_bytes_max = 1ULL << 20;
  std::size_t javascript_output_bytes_max = 64ULL << 20;  ///< for one call
  std::size_t javascript_log_bytes_max = 4ULL << 10;      ///< for one call

  // [log]
  std::string log_level = "info";
  LogFormat log_format = LogFormat::text;
  bool access_log = true;
  std::chrono::milliseconds slow_request_ms{1000};

  SettingSources sources;

  bool operator==(const Settings&) const = default;
};

}  // namespace octavo::config

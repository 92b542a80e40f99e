#include "config/setting_table.h"

#include "base/ascii_case.h"

namespace octavo::config {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t KiB = 1ULL << 10;
constexpr std::uint64_t MiB = 1ULL << 20;
constexpr std::uint64_t GiB = 1ULL << 30;
constexpr std::uint64_t TiB = 1ULL << 40;

struct Range {
  std::uint64_t min;
  std::uint64_t max;
};

constexpr Range between(std::chrono::milliseconds min, std::chrono::milliseconds max) {
  return {static_cast<std::uint64_t>(min.count()), static_cast<std::uint64_t>(max.count())};
}

// One function per type, so that a text cannot have a range and a number must have one.

Setting boolean(std::string_view section, std::string_view key, Member member, std::string_view description) {
  return {.section = section, .key = key, .member = member, .type = ValueType::boolean, .description = description};
}

Setting ranged(ValueType type, std::string_view section, std::string_view key, Member member, Range range,
               std::string_view description) {
  return {.section = section,
          .key = key,
          .member = member,
          .type = type,
          .description = description,
          .min = range.min,
          .max = range.max};
}

Setting number(std::string_view section, std::string_view key, Member member, Range range,
               std::string_view description) {
  return ranged(ValueType::number, section, key, member, range, description);
}

Setting size(std::string_view section, std::string_view key, Member member, Range range, std::string_view description) {
  return ranged(ValueType::size, section, key, member, range, description);
}

Setting duration(std::string_view section, std::string_view key, Member member, Range range,
                 std::string_view description) {
  return ranged(ValueType::duration, section, key, member, range, description);
}

Setting text(std::string_view section, std::string_view key, Member member, std::string_view description) {
  return {.section = section, .key = key, .member = member, .type = ValueType::text, .description = description};
}

Setting path(std::string_view section, std::string_view key, Member member, std::string_view description) {
  return {.section = section, .key = key, .member = member, .type = ValueType::path, .description = description};
}

Setting choice(std::string_view section, std::string_view key, Member member, std::vector<std::string_view> choices,
               std::string_view description) {
  return {.section = section,
          .key = key,
          .member = member,
          .type = ValueType::choice,
          .description = description,
          .choices = std::move(choices)};
}

Setting list(std::string_view section, std::string_view key, Member member, std::string_view description) {
  return {.section = section, .key = key, .member = member, .type = ValueType::list, .description = description};
}

Setting table(std::string_view section, Member member, std::string_view description) {
  return {.section = section,
          .key = "",
          .member = member,
          .type = ValueType::table,
          .description = description,
          .secret = true};
}

Setting secret(Setting setting, std::string_view couchdb_variable = "") {
  setting.secret = true;
  setting.file_variable = true;
  setting.couchdb_variable = couchdb_variable;
  return setting;
}

Setting live(Setting setting) {
  setting.at_run_time = true;
  return setting;
}

Setting not_in_file(Setting setting) {
  setting.in_file = false;
  return setting;
}

Setting admin_user() {
  auto setting = not_in_file(text("auth", "admin_user", &Draft::admin_user, "Name of one more admin"));
  setting.couchdb_variable = "COUCHDB_USER";
  setting.file_variable = true;
  return setting;
}

std::vector<Setting> make_table() {
  return {
      path("server", "data_dir", &Draft::data_dir, "Folder that holds everything stored; created when missing"),
      text("server", "bind", &Draft::bind, "IP address to listen on; `0.0.0.0` or `::` for every interface"),
      number("server", "port", &Draft::port, {0, 65'535},
             "TCP port to listen on; 0 = any free one, see the READY line"),
      live(list(
          "server", "allowed_hosts", &Draft::allowed_hosts,
          "Names, such as `db.example.com`, under which a server without admins may be asked; addresses, `localhost` "
          "and names without a dot always may")),
      number("server", "io_threads", &Draft::io_threads, {0, 1'024},
             "Threads that serve connections; 0 = one per processor that may be used"),
      number("server", "worker_threads", &Draft::worker_threads, {0, 1'024},
             "Threads for scans and queries; 0 = one per processor that may be used"),
      number("server", "writer_threads", &Draft::writer_threads, {0, 1'024},
             "Threads that commit; they wait for the disk; 0 = two per processor"),
      live(duration("server", "shutdown_timeout", &Draft::shutdown_timeout_ms, between(0ms, 1h),
                    "How long running requests may take to finish after SIGTERM")),

      path("tls", "certificate", &Draft::tls_certificate,
           "PEM file, own certificate first; none = plain HTTP, but see `cosmos.tls`"),
      path("tls", "key", &Draft::tls_key, "PEM file with the certificate's private key"),

      admin_user(),
      not_in_file(
          secret(text("auth", "admin_password", &Draft::admin_password, "Password of that admin"), "COUCHDB_PASSWORD")),
      live(boolean("auth", "require_valid_user", &Draft::require_valid_user,
                   "Answer 401 to requests without a user, except those for `/_up`, `/_ready` and a log-in; off: they "
                   "may do what the `_security` of each database allows everybody")),
      live(text("auth", "challenge", &Draft::challenge,
                "`WWW-Authenticate` of each 401, such as `Basic realm=\"couchdb\"`, which makes browsers ask for a "
                "password; none = `Basic realm=\"server\"`, and only with `require_valid_user`")),
      live(boolean("auth", "admin_only_all_dbs", &Draft::admin_only_all_dbs,
                   "Only admins may list databases, by `_all_dbs` and `_dbs_info`; off: everyone may who gets past "
                   "`require_valid_user`")),
      boolean("auth", "allow_public_without_auth", &Draft::allow_public_without_auth,
              "Start on a public address although there is no admin: everybody may do everything"),
      live(duration("auth", "session_timeout", &Draft::session_timeout_s, between(1s, 365 * 24h),
                    "How long a cookie session lives")),
      live(secret(text("auth", "cookie_secret", &Draft::cookie_secret,
                       "Signs cookie sessions; none = made at random and kept in the data folder"),
                  "COUCHDB_SECRET")),
      live(list("auth", "jwt_required_claims", &Draft::jwt_required_claims,
                "Claims that a JWT must carry, such as `exp`, or `iss=https://login.example.com` for one value")),
      live(text("auth", "jwt_roles_claim_path", &Draft::jwt_roles_claim_path,
                "Where a JWT has its roles, such as `resource_access.app.roles`; none = `_couchdb.roles`")),
      live(secret(text(
          "auth", "proxy_secret", &Draft::proxy_secret,
          "Shared with a proxy that names the user in `X-Auth-CouchDB-UserName`, with a token made by this secret"))),
      live(number("auth", "pbkdf2_iterations", &Draft::pbkdf2_iterations, {1'000, 10'000'000},
                  "Work that goes into hashing a new password")),

      table("admins", &Draft::admins, "Admin name = password"),
      table("jwt_keys", &Draft::jwt_keys,
            "`\"hs256:kid\"` = base64 secret; `\"rs256:kid\"`, `\"es256:kid\"` = PEM public key; 384 and 512 likewise"),

      boolean("cosmos", "enabled", &Draft::cosmos_enabled, "Serve the Azure Cosmos DB API on a port of its own"),
      text("cosmos", "bind", &Draft::cosmos_bind, "IP address to listen on; none = that of `server.bind`"),
      number("cosmos", "port", &Draft::cosmos_port, {0, 65'535},
             "TCP port to listen on; 0 = any free one, see the READY line"),
      choice("cosmos", "tls", &Draft::cosmos_tls, {"auto", "both", "off"},
             "Schemes of this port. auto: HTTP and HTTPS, with a certificate that the server makes; with "
             "`tls.certificate`, HTTPS only. both: HTTP and HTTPS. off: HTTP only"),
      secret(
          text("cosmos", "key", &Draft::cosmos_key,
               "Account key, in base64; emulator = the emulator's well-known key, from any machine; none = that key, "
               "from this machine only, and only while there is no admin")),
      secret(text("cosmos", "secondary_key", &Draft::cosmos_secondary_key,
                  "Second account key, so that keys can be changed one after the other")),
      secret(text("cosmos", "read_only_key", &Draft::cosmos_read_only_key, "Account key that may only read")),
      live(size("cosmos", "item_bytes_max", &Draft::cosmos_item_bytes_max, {1 * KiB, 64 * MiB},
                "Longest item; beyond: 413")),

      live(size("http", "request_head_bytes_max", &Draft::request_head_bytes_max, {1 * KiB, 16 * MiB},
                "Longest request line and headers; beyond: 431")),
      live(size("http", "request_body_bytes_max", &Draft::request_body_bytes_max, {1 * KiB, 4 * GiB},
                "Longest request body, after decompression; beyond: 413. Bodies are held in memory: none may have more "
                "than an eighth of the memory, nor more than 512 MiB, whatever is set here")),
      live(number("http", "connections_max", &Draft::connections_max, {1, 1'000'000},
                  "Open connections; beyond: 503 with Retry-After")),
      live(number("http", "requests_in_flight_max", &Draft::requests_in_flight_max, {1, 1'000'000},
                  "Requests being answered, idle feed followers aside; beyond: 503 with Retry-After")),
      live(duration("http", "header_timeout", &Draft::header_timeout_ms, between(10ms, 1h),
                    "From a request's first byte to the end of its headers")),
      live(duration("http", "body_timeout", &Draft::body_timeout_ms, between(10ms, 1h),
                    "Pause allowed inside a request body; all pauses together, if it comes slower than 500 bytes/s")),
      live(duration("http", "idle_timeout", &Draft::idle_timeout_ms, between(10ms, 24h),
                    "Pause allowed between two requests of a connection")),
      live(duration(
          "http", "send_timeout", &Draft::send_timeout_ms, between(10ms, 1h),
          "Pause allowed while a client reads a reply; all pauses together, if it reads slower than 500 bytes/s")),
      live(size("http", "compression_bytes_min", &Draft::compression_bytes_min, {0, 1 * GiB},
                "Replies shorter than this are never compressed")),
      live(boolean("http", "decode_plus_to_space", &Draft::decode_plus_to_space,
                   "In paths of the CouchDB API, `+` is a space, as in CouchDB; off: it is itself")),

      live(boolean("cors", "enabled", &Draft::cors_enabled, "Answer browsers on other origins")),
      live(list("cors", "origins", &Draft::cors_origins, "Origins allowed, such as `https://app.example.com`, or `*`")),
      live(boolean("cors", "credentials", &Draft::cors_credentials, "Let those browsers send cookies and passwords")),
      live(list("cors", "methods", &Draft::cors_methods, "Methods allowed")),
      live(list("cors", "headers", &Draft::cors_headers, "Request headers allowed, beside the usual ones")),
      live(duration("cors", "max_age", &Draft::cors_max_age_s, between(0s, 24h),
                    "How long browsers may cache the answer")),

      live(number("database", "default_q", &Draft::default_q, {1, 1'024},
                  "Physical partitions of a new database whose request does not say `q`")),
      live(number("database", "q_max", &Draft::q_max, {1, 1'024}, "Largest `q` that a request may ask for")),
      live(size("database", "document_bytes_max", &Draft::document_bytes_max, {1 * KiB, document_bytes_most},
                "Largest document, attachments aside; beyond: 413")),
      size("database", "logical_partition_bytes_max", &Draft::logical_partition_bytes_max, {1 * KiB, 1'024 * TiB},
           "Largest logical partition; beyond: 403"),
      live(size("database", "physical_partition_bytes_max", &Draft::physical_partition_bytes_max,
                {64 * KiB, 1'024 * TiB}, "A physical partition that has become larger is split in two, online")),
      duration("database", "split_source_kept", &Draft::split_source_kept_s, between(0s, 24h),
               "How long the files of a physical partition stay after it was split or merged, for requests that began "
               "before; until then they take their disk space a second time"),
      live(boolean("database", "merge", &Draft::merge,
                   "Merge two neighbouring physical partitions, online, that have stayed below 40 % of "
                   "`physical_partition_bytes_max` and of 10,000 RU/s together for `merge_after`")),
      live(duration("database", "merge_after", &Draft::merge_after_s, between(1s, 365 * 24h),
                    "For how long two physical partitions must have been small before they are merged, and no client "
                    "have read partition key ranges that does not know merges")),
      live(number("database", "revs_limit", &Draft::revs_limit, {1, 1'000'000},
                  "Revisions remembered per document in a new database")),
      live(duration(
          "database", "replaced_kept", &Draft::replaced_kept_s, between(0s, 365 * 24h),
          "How long replaced revisions can be read by `?rev=`, unless a compaction comes first; 0: they are not kept")),
      live(number(
          "database", "replaced_share_max", &Draft::replaced_share_max, {0, 100},
          "Percent of the bytes of a partition's documents that replaced revisions may take; 1 MiB is always kept")),
      live(number("database", "documents_per_bulk_max", &Draft::documents_per_bulk_max, {1, 10'000'000},
                  "Documents in one bulk request, or revisions in one `_revs_diff`; beyond: 413")),
      live(boolean("database", "enforce_throughput", &Draft::enforce_throughput,
                   "Answer 429 to requests for a database or container that has used up its throughput (RU/s), if it "
                   "was created "
                   "with one; off: programs may set and read the throughput, but nothing is refused")),

      choice(
          "storage", "durability", &Draft::durability, {"commit", "relaxed", "ephemeral"},
          "When a write is acknowledged: after fsync; before it (a power cut may take the last commits); never synced"),
      choice("storage", "compression", &Draft::compression, {"zstd", "none"},
             "How bodies of documents of 1 KiB and more are stored: compressed, if that saves an eighth; as they are"),
      live(number("storage", "open_partitions_max", &Draft::open_partitions_max, {1, 100'000},
                  "Physical partitions kept open; the least used is closed first")),
      size("storage", "map_bytes_initial", &Draft::map_bytes_initial, {64 * KiB, 1 * TiB},
           "Least address space for the map of a physical partition; usually 64 GiB are reserved (no memory, no disk)"),
      size("storage", "queued_bytes_max", &Draft::queued_bytes_max, {64 * KiB, 1 * TiB},
           "Writes that wait for the disk, half of it in one physical partition; beyond: 503"),
      live(choice("storage", "compaction", &Draft::compaction, {"automatic", "manual"},
                  "When files are compacted: when they have become sparse, and on request; on request only")),
      live(number("storage", "compaction_share", &Draft::compaction_share, {1, 99},
                  "Percent of a file of at least 16 MiB that must be unused for an automatic compaction")),
      live(size("storage", "compaction_rate", &Draft::compaction_rate, {0, 1 * TiB},
                "What a compaction, or a backup, may write in a second; 0: no limit")),

      path("backup", "folder", &Draft::backup_folder,
           "Folder that has the folders of backups (`POST /_backup`), outside of `data_dir`; none = there are none"),

      live(choice("uuids", "algorithm", &Draft::uuid_algorithm,
                  {"sequential", "random", "utc_random", "utc_id", "uuid_v4", "uuid_v7"},
                  "How ids of new documents are made; ids that ascend are stored side by side")),
      live(text("uuids", "utc_id_suffix", &Draft::utc_id_suffix, "End of the ids that `utc_id` makes")),
      live(number("uuids", "max_count", &Draft::uuids_max, {1, 100'000}, "Ids in one reply of `/_uuids`; beyond: 400")),

      live(boolean("couch_peruser", "enable", &Draft::peruser_enabled,
                   "Keep a database for each document of `_users`, which only that user and admins may use")),
      live(boolean("couch_peruser", "delete_dbs", &Draft::peruser_delete_databases,
                   "Delete that database with its user")),
      live(text("couch_peruser", "database_prefix", &Draft::peruser_prefix,
                "Begin of the names of these databases; the user's name follows in hexadecimal")),
      live(number("couch_peruser", "q", &Draft::peruser_q, {1, 1'024}, "Physical partitions of such a database")),

      live(number("query", "find_limit_default", &Draft::find_limit_default, {1, 1'000'000},
                  "Documents that `_find` returns when the request does not say `limit`")),
      live(boolean(
          "query", "find_strict", &Draft::find_strict,
          "Refuse with `_find` what CouchDB refuses: sorts without an index or in mixed directions, and partial "
          "indexes that `use_index` does not name")),
      live(size("query", "sort_bytes_max", &Draft::sort_bytes_max, {64 * KiB, 64 * GiB},
                "Memory for a sort that no index serves; beyond: `no_usable_index`")),

      live(boolean("advice", "record", &Draft::advice_record,
                   "Count the queries to each database by shape, sample requests by key, in memory and without values, "
                   "for `_partition_advisor` and `_index_advisor`")),

      boolean("analytics", "enabled", &Draft::analytics_enabled,
              "Let databases have an analytical store, which is asked in SQL in a process of its own"),
      path("analytics", "library", &Draft::analytics_library,
           "DuckDB's library, which `scripts/install-analytics.sh` fetches; none = `libduckdb.so` beside the program"),
      text("analytics", "library_sha256", &Draft::analytics_library_sha256,
           "SHA-256 checksum of that library, in hexadecimal, for another build; none = that of the one fetched"),
      size("analytics", "memory_limit", &Draft::analytics_memory_limit, {64 * MiB, 1 * TiB},
           "Memory of DuckDB for each database or group; beyond: files, and then an error"),
      size("analytics", "max_temp_size", &Draft::analytics_max_temp_size, {0, 64 * TiB},
           "Disk for what queries of a database do not keep in memory"),
      duration("analytics", "query_timeout", &Draft::analytics_query_timeout_ms, between(100ms, 1h),
               "How long a query to an analytical store may take, its reply included"),
      number("analytics", "max_queries", &Draft::analytics_max_queries, {1, 256},
             "Such queries at a time; beyond: 429"),
      duration("analytics", "export_timeout", &Draft::analytics_export_timeout_ms, between(100ms, 24h),
               "How long an export of an analytical store may take, its reply included"),
      number("analytics", "max_exports", &Draft::analytics_max_exports, {1, 64}, "Exports at a time; beyond: 429"),
      path("analytics", "export_folder", &Draft::analytics_export_folder,
           "Folder that has the folders of exports, outside of `data_dir`; none = exports are sent as files only"),

      live(duration("javascript", "call_time", &Draft::javascript_call_time_ms, between(10ms, 1h),
                    "How long one call of a design function may take; beyond: `resource_limit`")),
      size("javascript", "heap_bytes_max", &Draft::javascript_heap_bytes_max, {16 * MiB, 2 * GiB},
           "Memory for design functions, in each thread that runs them"),
      size("javascript", "stack_bytes_max", &Draft::javascript_stack_bytes_max, {128 * KiB, 64 * MiB},
           "Stack for a design function; never more than its thread has"),
      size("javascript", "output_bytes_max", &Draft::javascript_output_bytes_max, {1 * KiB, 1 * GiB},
           "What one call of a design function may emit or return"),
      size("javascript", "log_bytes_max", &Draft::javascript_log_bytes_max, {0, 1 * MiB},
           "What one call of a design function may log"),

      live(choice("log", "level", &Draft::log_level, {"trace", "debug", "info", "warn", "error", "critical", "off"},
                  "Least severe event that is logged")),
      choice("log", "format", &Draft::log_format, {"text", "json"}, "One line of text, or one JSON object, per event"),
      live(boolean("log", "access", &Draft::access_log, "Log every request")),
      live(duration("log", "slow_request", &Draft::slow_request_ms, between(0ms, 1h),
                    "Requests that take longer are logged as slow; 0 = none")),
  };
}

// The most used settings have names without their section: --port, OCTAVO_ADMIN_USER.
bool has_bare_name(std::string_view section) {
  return section == "server" || section == "auth";
}

std::string qualified_name(const Setting& setting, char separator) {
  std::string name(setting.key);
  if (!has_bare_name(setting.section)) name = std::string(setting.section) + separator + name;
  return name;
}

}  // namespace

std::span<const Setting> setting_table() {
  static const auto table = make_table();
  return table;
}

const Setting* find_setting(std::string_view section, std::string_view key) {
  for (const Setting& setting : setting_table()) {
    if (setting.section == section && setting.key == key) return &setting;
  }
  return nullptr;
}

Draft draft_of(const Settings& settings) {
  Draft draft;
  static_cast<Settings&>(draft) = settings;
  return draft;
}

std::string_view section_description(std::string_view section) {
  if (section == "server") return "Where to listen and where to store";
  if (section == "tls") return "HTTPS instead of HTTP, on both ports unless `cosmos.tls` says otherwise";
  if (section == "auth") return "Who may do what";
  if (section == "admins") return "Users who may do everything";
  if (section == "jwt_keys") return "Keys that JSON Web Tokens are checked with";
  if (section == "cosmos") return "The Azure Cosmos DB API";
  if (section == "http") return "Limits and timeouts of connections and requests";
  if (section == "cors") return "Browsers on other origins";
  if (section == "database") return "Limits and defaults of databases";
  if (section == "storage") return "Durability and open files";
  if (section == "backup") return "Backups of the running server";
  if (section == "uuids") return "Ids that the server makes";
  if (section == "couch_peruser") return "A database for each user";
  if (section == "query") return "Limits and defaults of queries";
  if (section == "advice") return "Advice on partition keys";
  if (section == "analytics") return "Copies of databases in columns, for queries in SQL";
  if (section == "javascript") return "Limits of the functions of design documents";
  if (section == "log") return "What is logged, and how";
  return "";
}

std::string Setting::toml_name() const {
  return type == ValueType::table ? std::string(section) : std::string(section) + '.' + std::string(key);
}

std::string Setting::environment_variable() const {
  if (type == ValueType::table) return "";
  return "OCTAVO_" + upper_case(qualified_name(*this, '_'));
}

std::string Setting::flag() const {
  if (type == ValueType::table) return "";
  std::string name = "--" + qualified_name(*this, '-');
  for (char& c : name) {
    if (c == '_') c = '-';
  }
  return name;
}

}  // namespace octavo::config

#compdef octavo
# zsh completion for octavo. To use it: octavo completion zsh > "${fpath[1]}/_octavo"
_octavo() {
  local state
  local -a subcommands
  subcommands=(
    'serve:Run the server'
    'health:Ask a running server whether it is well\: exit 0 if so, else 1'
    'check:Verify a data folder; exit 0 when it is sound, else 1'
    'version:Print the version'
    'completion:Print a completion script for a shell'
  )
  _arguments -C '--version[Print the version and exit]' '--help[Print this help and exit]' '1:command:->command' '*::argument:->arguments'
  case $state in
    command) _describe command subcommands ;;
    arguments)
      case $words[1] in
        serve)
          _arguments \
            '--help[Print this help and exit]' \
            '*--config[TOML file with settings; also OCTAVO_CONFIG]:value:_files' \
            '--print-config[Print the settings in effect, secrets masked, and exit]' \
            '*--data-dir[Folder that holds everything stored; created when missing (data)]:value:_files' \
            '*--bind[IP address to listen on; `0.0.0.0` or `\:\:` for every interface (127.0.0.1)]:value:' \
            '*--port[TCP port to listen on; 0 = any free one, see the READY line (5984)]:value:' \
            '*--allowed-hosts[Names, such as `db.example.com`, under which a server without admins may be asked; addresses, `localhost` and names without a dot always may]:value:' \
            '*--io-threads[Threads that serve connections; 0 = one per processor that may be used (0)]:value:' \
            '*--worker-threads[Threads for scans and queries; 0 = one per processor that may be used (0)]:value:' \
            '*--writer-threads[Threads that commit; they wait for the disk; 0 = two per processor (0)]:value:' \
            '*--shutdown-timeout[How long running requests may take to finish after SIGTERM (5s)]:value:' \
            '*--tls-certificate[PEM file, own certificate first; none = plain HTTP, but see `cosmos.tls`]:value:_files' \
            '*--tls-key[PEM file with the certificate'\''s private key]:value:_files' \
            '*--admin-user[Name of one more admin]:value:' \
            '*--admin-password[Password of that admin]:value:' \
            '*--admin-password-file[File that holds it]:value:_files' \
            '--require-valid-user[Answer 401 to requests without a user (false)]' \
            '*--challenge[WWW-Authenticate of each 401]:value:' \
            '--admin-only-all-dbs[Only admins may list databases, by `_all_dbs` and `_dbs_info`; off\: everyone may who gets past `require_valid_user` (true)]' \
            '--allow-public-without-auth[Start on a public address although there is no admin\: everybody may do everything (false)]' \
            '*--session-timeout[How long a cookie session lives (10m)]:value:' \
            '*--cookie-secret[Signs cookie sessions; none = made at random and kept in the data folder]:value:' \
            '*--cookie-secret-file[File that holds it]:value:_files' \
            '*--jwt-required-claims[Claims that a JWT must carry, such as `exp`, or `iss=https\://login.example.com` for one value]:value:' \
            '*--jwt-roles-claim-path[Where a JWT has its roles, such as `resource_access.app.roles`; none = `_couchdb.roles`]:value:' \
            '*--proxy-secret[Shared with a proxy that names the user in `X-Auth-CouchDB-UserName`, with a token made by this secret]:value:' \
            '*--proxy-secret-file[File that holds it]:value:_files' \
            '*--pbkdf2-iterations[Work that goes into hashing a new password (50000)]:value:' \
            '--cosmos-enabled[Serve the Azure Cosmos DB API on a port of its own (true)]' \
            '*--cosmos-bind[IP address to listen on; none = that of `server.bind`]:value:' \
            '*--cosmos-port[TCP port to listen on; 0 = any free one, see the READY line (8081)]:value:' \
            '*--cosmos-tls[Schemes of this port. auto\: HTTP and HTTPS, with a certificate that the server makes; with `tls.certificate`, HTTPS only. both\: HTTP and HTTPS. off\: HTTP only (auto)]:value:(auto both off)' \
            '*--cosmos-key[Account key, in base64; emulator = the emulator'\''s well-known key, from any machine; none = that key, from this machine only, and only while there is no admin]:value:' \
            '*--cosmos-key-file[File that holds it]:value:_files' \
            '*--cosmos-secondary-key[Second account key, so that keys can be changed one after the other]:value:' \
            '*--cosmos-secondary-key-file[File that holds it]:value:_files' \
            '*--cosmos-read-only-key[Account key that may only read]:value:' \
            '*--cosmos-read-only-key-file[File that holds it]:value:_files' \
            '*--cosmos-item-bytes-max[Longest item; beyond\: 413 (2MiB)]:value:' \
            '*--http-request-head-bytes-max[Longest request line and headers; beyond\: 431 (64KiB)]:value:' \
            '*--http-request-body-bytes-max[Longest request body, after decompression (64MiB)]:value:' \
            '*--http-connections-max[Open connections; beyond\: 503 with Retry-After (20000)]:value:' \
            '*--http-requests-in-flight-max[Requests being answered, idle feed followers aside; beyond\: 503 with Retry-After (2000)]:value:' \
            '*--http-header-timeout[From a request'\''s first byte to the end of its headers (10s)]:value:' \
            '*--http-body-timeout[Pause allowed inside a request body; all pauses together, if it comes slower than 500 bytes/s (1m)]:value:' \
            '*--http-idle-timeout[Pause allowed between two requests of a connection (75s)]:value:' \
            '*--http-send-timeout[Pause allowed while a client reads a reply; all pauses together, if it reads slower than 500 bytes/s (1m)]:value:' \
            '*--http-compression-bytes-min[Replies shorter than this are never compressed (1400)]:value:' \
            '--http-decode-plus-to-space[In paths of the CouchDB API, `+` is a space, as in CouchDB; off\: it is itself (true)]' \
            '--cors-enabled[Answer browsers on other origins (false)]' \
            '*--cors-origins[Origins allowed, such as `https\://app.example.com`, or `*`]:value:' \
            '--cors-credentials[Let those browsers send cookies and passwords (false)]' \
            '*--cors-methods[Methods allowed (\["GET", "PUT", "POST", "HEAD", "DELETE"\])]:value:' \
            '*--cors-headers[Request headers allowed, beside the usual ones]:value:' \
            '*--cors-max-age[How long browsers may cache the answer (10m)]:value:' \
            '*--database-default-q[Physical partitions of a new database whose request does not say `q` (1)]:value:' \
            '*--database-q-max[Largest `q` that a request may ask for (64)]:value:' \
            '*--database-document-bytes-max[Largest document, attachments aside; beyond\: 413 (8MiB)]:value:' \
            '*--database-logical-partition-bytes-max[Largest logical partition; beyond\: 403 (20GiB)]:value:' \
            '*--database-physical-partition-bytes-max[A physical partition that has become larger is split in two, online (50GiB)]:value:' \
            '*--database-split-source-kept[How long the files of a physical partition stay after it was split or merged (1m)]:value:' \
            '--database-merge[Merge neighbouring physical partitions that stay small (true)]' \
            '*--database-merge-after[For how long two physical partitions must have been small before they are merged (1d)]:value:' \
            '*--database-revs-limit[Revisions remembered per document in a new database (1000)]:value:' \
            '*--database-replaced-kept[How long replaced revisions can be read by `?rev=`, unless a compaction comes first; 0\: they are not kept (24h)]:value:' \
            '*--database-replaced-share-max[Percent of the bytes of a partition'\''s documents that replaced revisions may take; 1 MiB is always kept (20)]:value:' \
            '*--database-documents-per-bulk-max[Documents in one bulk request, or revisions in one `_revs_diff`; beyond\: 413 (100000)]:value:' \
            '--database-enforce-throughput[Answer 429 to requests beyond the throughput (RU/s) of a database or container (true)]' \
            '*--storage-durability[When a write is acknowledged\: after fsync; before it (a power cut may take the last commits); never synced (commit)]:value:(commit relaxed ephemeral)' \
            '*--storage-compression[How bodies of documents of 1 KiB and more are stored\: compressed, if that saves an eighth; as they are (zstd)]:value:(zstd none)' \
            '*--storage-open-partitions-max[Physical partitions kept open; the least used is closed first (500)]:value:' \
            '*--storage-map-bytes-initial[Least address space for the map of a physical partition; usually 64 GiB are reserved (no memory, no disk) (16MiB)]:value:' \
            '*--storage-queued-bytes-max[Writes that wait for the disk, half of it in one physical partition; beyond\: 503 (512MiB)]:value:' \
            '*--storage-compaction[When files are compacted\: when they have become sparse, and on request; on request only (automatic)]:value:(automatic manual)' \
            '*--storage-compaction-share[Percent of a file of at least 16 MiB that must be unused for an automatic compaction (50)]:value:' \
            '*--storage-compaction-rate[What a compaction, or a backup, may write in a second; 0\: no limit (0)]:value:' \
            '*--backup-folder[Folder that has the folders of backups (`POST /_backup`), outside of `data_dir`; none = there are none]:value:_files' \
            '*--uuids-algorithm[How ids of new documents are made; ids that ascend are stored side by side (sequential)]:value:(sequential random utc_random utc_id uuid_v4 uuid_v7)' \
            '*--uuids-utc-id-suffix[End of the ids that `utc_id` makes]:value:' \
            '*--uuids-max-count[Ids in one reply of `/_uuids`; beyond\: 400 (1000)]:value:' \
            '--couch-peruser-enable[Keep a database for each document of `_users`, which only that user and admins may use (false)]' \
            '--couch-peruser-delete-dbs[Delete that database with its user (false)]' \
            '*--couch-peruser-database-prefix[Begin of the names of these databases; the user'\''s name follows in hexadecimal (userdb-)]:value:' \
            '*--couch-peruser-q[Physical partitions of such a database (1)]:value:' \
            '*--query-find-limit-default[Documents that `_find` returns when the request does not say `limit` (25)]:value:' \
            '--query-find-strict[Refuse with `_find` what CouchDB refuses\: sorts without an index or in mixed directions, and partial indexes that `use_index` does not name (false)]' \
            '*--query-sort-bytes-max[Memory for a sort that no index serves; beyond\: `no_usable_index` (64MiB)]:value:' \
            '--advice-record[Count the queries to each database by shape, sample requests by key, in memory and without values, for `_partition_advisor` and `_index_advisor` (true)]' \
            '--analytics-enabled[Let databases have an analytical store, which is asked in SQL in a process of its own (false)]' \
            '*--analytics-library[DuckDB'\''s library, which `scripts/install-analytics.sh` fetches; none = `libduckdb.so` beside the program]:value:_files' \
            '*--analytics-library-sha256[SHA-256 checksum of that library, in hexadecimal, for another build; none = that of the one fetched]:value:' \
            '*--analytics-memory-limit[Memory of DuckDB for each database or group; beyond: files, and then an error (1GiB)]:value:' \
            '*--analytics-max-temp-size[Disk for what queries of a database do not keep in memory (4GiB)]:value:' \
            '*--analytics-query-timeout[How long a query to an analytical store may take, its reply included (30s)]:value:' \
            '*--analytics-max-queries[Such queries at a time; beyond: 429 (4)]:value:' \
            '*--analytics-export-timeout[How long an export of an analytical store may take, its reply included (1h)]:value:' \
            '*--analytics-max-exports[Exports at a time; beyond: 429 (2)]:value:' \
            '*--analytics-export-folder[Folder that has the folders of exports, outside of `data_dir`; none = exports are sent as files only]:value:_files' \
            '*--javascript-call-time[How long one call of a design function may take; beyond\: `resource_limit` (5s)]:value:' \
            '*--javascript-heap-bytes-max[Memory for design functions, in each thread that runs them (128MiB)]:value:' \
            '*--javascript-stack-bytes-max[Stack for a design function; never more than its thread has (1MiB)]:value:' \
            '*--javascript-output-bytes-max[What one call of a design function may emit or return (64MiB)]:value:' \
            '*--javascript-log-bytes-max[What one call of a design function may log (4KiB)]:value:' \
            '*--log-level[Least severe event that is logged (info)]:value:(trace debug info warn error critical off)' \
            '*--log-format[One line of text, or one JSON object, per event (text)]:value:(text json)' \
            '--log-access[Log every request (true)]' \
            '*--log-slow-request[Requests that take longer are logged as slow; 0 = none (1s)]:value:'
          ;;
        health)
          _arguments \
            '--help[Print this help and exit]' \
            '*--url[What to ask (/_up on the configured address and port)]:value:' \
            '*--timeout[How long to wait for the answer (5s)]:value:' \
            '*--config[TOML file with settings; also OCTAVO_CONFIG]:value:_files'
          ;;
        check)
          _arguments \
            '--help[Print this help and exit]' \
            '*--data-dir[Folder to verify (the configured one)]:value:_files' \
            '*--database[Only this database]:value:' \
            '*--config[TOML file with settings; also OCTAVO_CONFIG]:value:_files'
          ;;
        version)
          _arguments \
            '--help[Print this help and exit]'
          ;;
        completion)
          _arguments \
            '--help[Print this help and exit]' \
            '1:Which shell:(bash zsh fish)'
          ;;
      esac
      ;;
  esac
}
if [ "$funcstack[1]" = "_octavo" ]; then
  _octavo "$@"
else
  compdef _octavo octavo
fi

# bash completion for octavo. To use it: source <(octavo completion bash)
_octavo() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}" command="" word words
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
      serve|health|check|version|completion) command="$word"; break ;;
    esac
  done
  COMPREPLY=()
  case "$command $previous" in
    "serve --config") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    "serve --data-dir") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    "serve --bind") return ;;
    "serve --port") return ;;
    "serve --allowed-hosts") return ;;
    "serve --io-threads") return ;;
    "serve --worker-threads") return ;;
    "serve --writer-threads") return ;;
    "serve --shutdown-timeout") return ;;
    "serve --tls-certificate") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    "serve --tls-key") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    "serve --admin-user") return ;;
    "serve --admin-password") return ;;
    "serve --admin-password-file") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    "serve --session-timeout") return ;;
    "serve --challenge") return ;;
    "serve --cookie-secret") return ;;
    "serve --cookie-secret-file") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    "serve --jwt-required-claims") return ;;
    "serve --jwt-roles-claim-path") return ;;
    "serve --proxy-secret") return ;;
    "serve --proxy-secret-file") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    "serve --pbkdf2-iterations") return ;;
    "serve --cosmos-bind") return ;;
    "serve --cosmos-port") return ;;
    "serve --cosmos-tls") mapfile -t COMPREPLY < <(compgen -W "auto both off" -- "$current"); return ;;
    "serve --cosmos-key") return ;;
    "serve --cosmos-key-file") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    "serve --cosmos-secondary-key") return ;;
    "serve --cosmos-secondary-key-file") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    "serve --cosmos-read-only-key") return ;;
    "serve --cosmos-read-only-key-file") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    "serve --cosmos-item-bytes-max") return ;;
    "serve --http-request-head-bytes-max") return ;;
    "serve --http-request-body-bytes-max") return ;;
    "serve --http-connections-max") return ;;
    "serve --http-requests-in-flight-max") return ;;
    "serve --http-header-timeout") return ;;
    "serve --http-body-timeout") return ;;
    "serve --http-idle-timeout") return ;;
    "serve --http-send-timeout") return ;;
    "serve --http-compression-bytes-min") return ;;
    "serve --cors-origins") return ;;
    "serve --cors-methods") return ;;
    "serve --cors-headers") return ;;
    "serve --cors-max-age") return ;;
    "serve --database-default-q") return ;;
    "serve --database-q-max") return ;;
    "serve --database-document-bytes-max") return ;;
    "serve --database-logical-partition-bytes-max") return ;;
    "serve --database-physical-partition-bytes-max") return ;;
    "serve --database-split-source-kept") return ;;
    "serve --database-merge-after") return ;;
    "serve --database-revs-limit") return ;;
    "serve --database-replaced-kept") return ;;
    "serve --database-replaced-share-max") return ;;
    "serve --database-documents-per-bulk-max") return ;;
    "serve --storage-durability") mapfile -t COMPREPLY < <(compgen -W "commit relaxed ephemeral" -- "$current"); return ;;
    "serve --storage-compression") mapfile -t COMPREPLY < <(compgen -W "zstd none" -- "$current"); return ;;
    "serve --storage-open-partitions-max") return ;;
    "serve --storage-map-bytes-initial") return ;;
    "serve --storage-queued-bytes-max") return ;;
    "serve --storage-compaction") mapfile -t COMPREPLY < <(compgen -W "automatic manual" -- "$current"); return ;;
    "serve --storage-compaction-share") return ;;
    "serve --storage-compaction-rate") return ;;
    "serve --backup-folder") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    "serve --uuids-algorithm") mapfile -t COMPREPLY < <(compgen -W "sequential random utc_random utc_id uuid_v4 uuid_v7" -- "$current"); return ;;
    "serve --uuids-utc-id-suffix") return ;;
    "serve --uuids-max-count") return ;;
    "serve --couch-peruser-database-prefix") return ;;
    "serve --couch-peruser-q") return ;;
    "serve --query-find-limit-default") return ;;
    "serve --query-sort-bytes-max") return ;;
    "serve --analytics-library") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    "serve --analytics-library-sha256") return ;;
    "serve --analytics-memory-limit") return ;;
    "serve --analytics-max-temp-size") return ;;
    "serve --analytics-query-timeout") return ;;
    "serve --analytics-max-queries") return ;;
    "serve --analytics-export-timeout") return ;;
    "serve --analytics-max-exports") return ;;
    "serve --analytics-export-folder") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    "serve --javascript-call-time") return ;;
    "serve --javascript-heap-bytes-max") return ;;
    "serve --javascript-stack-bytes-max") return ;;
    "serve --javascript-output-bytes-max") return ;;
    "serve --javascript-log-bytes-max") return ;;
    "serve --log-level") mapfile -t COMPREPLY < <(compgen -W "trace debug info warn error critical off" -- "$current"); return ;;
    "serve --log-format") mapfile -t COMPREPLY < <(compgen -W "text json" -- "$current"); return ;;
    "serve --log-slow-request") return ;;
    "health --url") return ;;
    "health --timeout") return ;;
    "health --config") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    "check --data-dir") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
    "check --database") return ;;
    "check --config") mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
  esac
  case "$command" in
    "") words="serve health check version completion --version --help" ;;
    serve) words="--help --config --print-config --data-dir --bind --port --allowed-hosts --io-threads --worker-threads --writer-threads --shutdown-timeout --tls-certificate --tls-key --admin-user --admin-password --admin-password-file --require-valid-user --challenge --admin-only-all-dbs --allow-public-without-auth --session-timeout --cookie-secret --cookie-secret-file --jwt-required-claims --jwt-roles-claim-path --proxy-secret --proxy-secret-file --pbkdf2-iterations --cosmos-enabled --cosmos-bind --cosmos-port --cosmos-tls --cosmos-key --cosmos-key-file --cosmos-secondary-key --cosmos-secondary-key-file --cosmos-read-only-key --cosmos-read-only-key-file --cosmos-item-bytes-max --http-request-head-bytes-max --http-request-body-bytes-max --http-connections-max --http-requests-in-flight-max --http-header-timeout --http-body-timeout --http-idle-timeout --http-send-timeout --http-compression-bytes-min --http-decode-plus-to-space --cors-enabled --cors-origins --cors-credentials --cors-methods --cors-headers --cors-max-age --database-default-q --database-q-max --database-document-bytes-max --database-logical-partition-bytes-max --database-physical-partition-bytes-max --database-split-source-kept --database-merge --database-merge-after --database-revs-limit --database-replaced-kept --database-replaced-share-max --database-documents-per-bulk-max --database-enforce-throughput --storage-durability --storage-compression --storage-open-partitions-max --storage-map-bytes-initial --storage-queued-bytes-max --storage-compaction --storage-compaction-share --storage-compaction-rate --backup-folder --uuids-algorithm --uuids-utc-id-suffix --uuids-max-count --couch-peruser-enable --couch-peruser-delete-dbs --couch-peruser-database-prefix --couch-peruser-q --query-find-limit-default --query-find-strict --query-sort-bytes-max --advice-record --analytics-enabled --analytics-library --analytics-library-sha256 --analytics-memory-limit --analytics-max-temp-size --analytics-query-timeout --analytics-max-queries --analytics-export-timeout --analytics-max-exports --analytics-export-folder --javascript-call-time --javascript-heap-bytes-max --javascript-stack-bytes-max --javascript-output-bytes-max --javascript-log-bytes-max --log-level --log-format --log-access --log-slow-request" ;;
    health) words="--help --url --timeout --config" ;;
    check) words="--help --data-dir --database --config" ;;
    version) words="--help" ;;
    completion) words="--help bash zsh fish" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o filenames -F _octavo octavo

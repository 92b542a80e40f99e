#!/usr/bin/env bash
# Loads a running server with wrk and prints requests per second with p50 and p99 for each kind of request. Fills the
# database first. Only servers on this machine are accepted as targets.
#
#   scripts/load-test.sh [options] [URL]
#
#   URL                   default $OCTAVO_URL or http://127.0.0.1:5984; may hold user:password@
#   -c, --connections N   default 32
#   -t, --threads N       of wrk, default 2
#   -d, --duration S      seconds for each measurement, default 5
#   -n, --docs N          documents to fill in, default 100000
#   -b, --batch N         documents of one _bulk_docs, default 100
#       --database NAME   default load; created, and deleted at the end
#       --only LIST       of: get put bulk partition_find partition_all_docs mixed (separated by commas)
#       --keep            leave the database; a later run with --keep uses it again
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

url=${OCTAVO_URL:-http://127.0.0.1:5984}
connections=32 threads=2 duration=5 docs=100000 batch=100 database=load keep=0
only=get,put,bulk,partition_find,partition_all_docs,mixed
while (($#)); do
  case $1 in
    -c | --connections) connections=$2; shift ;;
    -t | --threads) threads=$2; shift ;;
    -d | --duration) duration=$2; shift ;;
    -n | --docs) docs=$2; shift ;;
    -b | --batch) batch=$2; shift ;;
    --database) database=$2; shift ;;
    --only) only=$2; shift ;;
    --keep) keep=1 ;;
    -h | --help) sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    -*) echo "load-test.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
    *) url=$1 ;;
  esac
  shift
done
url=${url%/}

if [[ ! $url =~ ^https?://([^/@]*@)?(127\.[0-9.]+|localhost|\[::1\])(:[0-9]+)?$ ]]; then
  echo "load-test.sh: $url is not on this machine; only loopback addresses are loaded" >&2
  exit 2
fi
for program in wrk curl awk; do
  command -v "$program" >/dev/null || { echo "load-test.sh: $program is missing (scripts/install-deps.sh)" >&2; exit 1; }
done
for name in ${only//,/ }; do
  [[ -f $here/load/$name.lua && $name != common ]] || { echo "load-test.sh: there is no measurement $name" >&2; exit 2; }
done

target=$url
export OCTAVO_LOAD_AUTHORIZATION=
if [[ $url =~ ^(https?://)([^/@]*)@(.*)$ ]]; then
  target=${BASH_REMATCH[1]}${BASH_REMATCH[3]}
  OCTAVO_LOAD_AUTHORIZATION="Basic $(printf %s "${BASH_REMATCH[2]}" | base64 -w0)"
fi
export OCTAVO_LOAD_DATABASE=$database OCTAVO_LOAD_DOCS=$docs OCTAVO_LOAD_BATCH=$batch OCTAVO_LOAD_SCRIPTS=$here/load

call() {
  curl --silent --show-error --fail-with-body --max-time 600 --header 'Content-Type: application/json' --request "$@"
}

fill() {
  echo "Filling $database with $docs documents ..."
  call PUT "$url/$database?partitioned=true" >/dev/null
  # The same documents as load/common.lua names, a thousand in a request, four requests at a time.
  local folder
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' RETURN
  awk -v docs="$docs" -v folder="$folder" 'BEGIN {
    text = "Slim colourful design, electronic appliance for home and kitchen, weighs up to five kilograms, with a " \
      "function for liquids in millilitres and fluid ounces, a fifteen year guarantee and a bowl of stainless steel"
    for (n = 0; n < docs; ++n) {
      file = sprintf("%s/%09d.json", folder, int(n / 1000))
      printf("%s{\"_id\":\"c%07d:d%03d\",\"type\":\"item\",\"kind\":\"k%d\",\"number\":%d," \
        "\"price\":%d.99,\"name\":\"Item number %d\"," \
        "\"active\":%s,\"tags\":[\"red\",\"green\",\"blue\"],\"text\":\"%s\"}", n % 1000 ? "," : "{\"docs\":[",
        int(n / 100), n % 100, n % 4, n, n % 500, n, n % 3 ? "false" : "true", text) > file
      if (n % 1000 == 999 || n == docs - 1) { print "]}" > file; close(file) }
    }
  }'
  find "$folder" -name '*.json' -print0 | sort -z | xargs -0 -P 4 -I{} curl --silent --show-error --fail --output /dev/null \
    --header 'Content-Type: application/json' --data-binary @{} "$url/$database/_bulk_docs"
  call POST "$url/$database/_index" --data '{"index":{"fields":["kind"]},"ddoc":"by-kind","partitioned":true}' >/dev/null
  # The first query waits for the index.
  call POST "$url/$database/_partition/c0000000/_find" --data '{"selector":{"kind":"k1"},"limit":25}' >/dev/null
}

call GET "$url/_up" >/dev/null || { echo "load-test.sh: no server answers at $target" >&2; exit 1; }
if curl --silent --fail --head --output /dev/null "$url/$database"; then
  ((keep)) || {
    echo "load-test.sh: the database $database is there already: --keep to use it, --database for another" >&2
    exit 1
  }
else
  fill
fi

failed=0
printf '%-22s %12s %10s %10s %8s\n' measurement 'requests/s' 'p50 ms' 'p99 ms' errors
for name in ${only//,/ }; do
  output=$(wrk --threads "$threads" --connections "$connections" --duration "${duration}s" --timeout 30s \
    --script "$here/load/$name.lua" "$target")
  result=$(grep '^RESULT ' <<<"$output") || { echo "$output" >&2; exit 1; }
  read -r _ requests errors seconds p50 p99 <<<"$result"
  printf '%-22s %12.0f %10s %10s %8s' "$name" "$(awk "BEGIN { print $requests / $seconds }")" "$p50" "$p99" "$errors"
  [[ $name != bulk ]] || printf '  %.0f docs/s' "$(awk "BEGIN { print $requests * $batch / $seconds }")"
  printf '\n'
  ((errors == 0)) || failed=1
done
((keep)) || call DELETE "$url/$database" >/dev/null
exit $failed

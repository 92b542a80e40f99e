#!/usr/bin/env bash
# Where each microsecond of processor time goes: loads a server of its own with scripts/load-test.sh, samples it with perf
# (Debian's linux-perf) and prints, for each kind of request, the microseconds of one request by what they were spent on.
#
#   scripts/profile.sh [OCTAVO]    the program, default build/octavo
#   ONLY=get,put DURATION=10 PORT=6789 scripts/profile.sh
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
octavo=${1:-$here/../build/octavo}
only=${ONLY:-get,put,partition_find}
duration=${DURATION:-8}
port=${PORT:-6789}
command -v perf >/dev/null || { echo "profile.sh: perf is missing (apt-get install linux-perf)" >&2; exit 1; }

folder=$(mktemp -d)
"$octavo" serve --data-dir "$folder/data" --port "$port" --log-access=false >"$folder/log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$folder"' EXIT
for _ in {1..100}; do grep -q READY "$folder/log" && break; sleep 0.1; done

# Processor time of all threads so far, in clock ticks.
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$server/stat"; }
load() { "$here/load-test.sh" --keep --only "$1" --duration "$2" --connections "$3" "http://127.0.0.1:$port"; }

load get 1 32 >/dev/null
for name in ${only//,/ }; do
  connections=32
  [[ $name != put ]] || connections=256
  load "$name" 1 "$connections" >/dev/null
  before=$(ticks)
  perf record --quiet --event cpu-clock --freq 2000 --pid "$server" --output "$folder/samples" -- \
    sleep "$((duration + 1))" 2>/dev/null &
  sampling=$!
  result=$(load "$name" "$duration" "$connections" | tail -1)
  used=$(($(ticks) - before))
  wait "$sampling" || true
  perf report --input "$folder/samples" --no-children --sort dso,sym --field-separator '|' --stdio 2>/dev/null |
    awk -F'|' -v name="$name" -v result="$result" -v ticks="$used" -v hertz="$(getconf CLK_TCK)" -v seconds="$duration" '
      # The first that fits counts.
      function purpose(dso, symbol) {
        if (dso ~ /kernel/) {
          if (symbol ~ /ext4|folio|mpage|page|jbd2|xas_|blk|iowrite|bio|sync|filemap|block_|copy_from_iter_atomic/)
            return "kernel: file"
          if (symbol ~ /tcp|skb|sock|inet|^\[k\] ip_|bbr|netif|dev_|recv|send|copy_from_iter|copy_to_iter|net_|loopback/)
            return "kernel: network"
          return "kernel: scheduling, system calls"
        }
        if (dso ~ /lmdb/) return "LMDB"
        if (dso ~ /libcrypto/) return "SHA-256 of revisions"
        if (dso ~ /simdjson|boost_json/) return "JSON"
        if (symbol ~ /query::.*(Normalizer|scan::|Splitter|ParsedDocument|DocumentParser)/) return "JSON"
        if (symbol ~ /malloc|free|operator new|operator delete|unlink_chunk|arena/) return "allocation"
        if (dso ~ /libc\.|libstdc/) return "copying and comparing bytes"
        if (symbol ~ /beast|server::/) return "HTTP: parsing, reply head"
        if (symbol ~ /asio/) return "scheduling of coroutines (Asio)"
        if (symbol ~ /api::/) return "API: routing, rights, reply body"
        if (symbol ~ /query::/) return "query: plan, index rows, results"
        if (symbol ~ /storage::|partitioning::/) return "storage: rows, queue, group commit"
        return "other"
      }
      /^ *[0-9.]+% *\|/ { share = $1 + 0; sum[purpose($2, $3)] += share }
      END {
        split(result, field, / +/)
        each = ticks / hertz / (field[2] * seconds) * 1e6
        printf "\n%s: %s requests/s, %.1f µs of processor time each\n", name, field[2], each
        for (what in sum) printf "  %6.2f µs  %5.1f %%  %s\n", sum[what] * each / 100, sum[what], what | "sort -rn"
      }'
done

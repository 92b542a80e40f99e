#!/usr/bin/env bash
# Measures PostgreSQL and Octavo on the same documents and operations, one after the other in the same run:
#
#   scripts/compare-postgres.sh [DOCUMENTS] [SECONDS]     default: 100000 documents, 5 s for each figure
#
# PostgreSQL (Debian's package) gets a cluster of its own with fsync on, a table of JSONB with expression indexes, and
# pgbench with prepared statements; Octavo gets octavo_bench. Both use 32 connections, and share the processors with
# their clients. Documents are those of tests/bench/data_set.h. The figures of record are in docs/benchmarks.md.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
documents=${1:-100000} seconds=${2:-5}
bin=/usr/lib/postgresql/15/bin
bench=${OCTAVO_BENCH:-$root/build/tests/bench/octavo_bench}
[[ -x $bin/initdb ]] || { echo "PostgreSQL 15 is missing: apt-get install postgresql" >&2; exit 1; }
[[ -x $bench ]] || { echo "$bench is missing: scripts/test.sh builds it" >&2; exit 1; }

folder=$(mktemp -d)
chmod 777 "$folder"
as_postgres() { if ((EUID == 0)); then (cd / && runuser -u postgres -- "$@"); else "$@"; fi; }
stop() {
  as_postgres "$bin/pg_ctl" -D "$folder/cluster" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$folder"
}
trap stop EXIT

as_postgres "$bin/initdb" -D "$folder/cluster" -A trust -U postgres >/dev/null
as_postgres "$bin/pg_ctl" -D "$folder/cluster" -w -l "$folder/log" start \
  -o "-k $folder -c listen_addresses= -c shared_buffers=1GB -c max_connections=300 -c random_page_cost=1.1" >/dev/null
psql() { as_postgres "$bin/psql" -h "$folder" -U postgres -qAt "$@"; }

psql <<SQL
CREATE TABLE bench (id text PRIMARY KEY, doc jsonb NOT NULL);
INSERT INTO bench
SELECT 'c' || lpad((n / 100)::text, 7, '0') || ':d' || lpad((n % 100)::text, 3, '0'),
  jsonb_build_object('type', 'item', 'kind', 'k' || n % 4, 'customer', 'u' || lpad((n % ($documents / 25))::text, 7, '0'),
    'number', n, 'price', n % 500 + (n % 100) / 100.0, 'name', 'Item number ' || n, 'active', n % 3 = 0,
    'tags', '["red","green","blue"]'::jsonb, 'text', repeat('electronic appliance ', 10))
FROM generate_series(0, $documents - 1) n;
CREATE INDEX by_customer ON bench ((doc->>'customer'));
CREATE INDEX by_kind ON bench (split_part(id, ':', 1), (doc->>'kind'));
VACUUM ANALYZE bench;
SQL

# chr(58) is a colon: pgbench takes one in a text for the beginning of a variable.
last_customer=$((documents / 25 - 1)) last_partition=$((documents / 100 - 1))
cat >"$folder/get.sql" <<SQL
\\set n random(0, $documents - 1)
SELECT doc FROM bench WHERE id =
  'c' || lpad((:n::int / 100)::text, 7, '0') || chr(58) || 'd' || lpad((:n::int % 100)::text, 3, '0');
SQL
cat >"$folder/global-find.sql" <<SQL
\\set n random(2, $last_customer)
SELECT id, doc FROM bench WHERE doc->>'customer' = 'u' || lpad((:n::int)::text, 7, '0') LIMIT 25;
SQL
cat >"$folder/partition-find.sql" <<SQL
\\set n random(0, $last_partition)
SELECT id, doc FROM bench
  WHERE split_part(id, ':', 1) = 'c' || lpad((:n::int)::text, 7, '0') AND doc->>'kind' = 'k1' LIMIT 25;
SQL
cat >"$folder/put.sql" <<SQL
INSERT INTO bench SELECT 'w' || gen_random_uuid(), doc FROM bench WHERE id = 'c0000000' || chr(58) || 'd001';
SQL
echo "SELECT doc->>'kind', count(*) FROM bench GROUP BY 1;" >"$folder/group.sql"
chmod 644 "$folder"/*.sql

rate() {  # rate NAME CONNECTIONS: transactions per second of a script
  as_postgres "$bin/pgbench" -h "$folder" -U postgres -n -M prepared -c "$2" -j 2 -T "$seconds" \
    -f "$folder/$1.sql" postgres |
    sed -n 's/^tps = \([0-9.]*\).*/\1/p'
}
declare -A postgres
postgres[group]=$(rate group 1)
for name in get global-find partition-find put; do postgres[$name]=$(rate "$name" 32); done
as_postgres "$bin/pg_ctl" -D "$folder/cluster" -m fast stop >/dev/null

mkdir "$folder/octavo"
"$bench" --data-dir "$folder/octavo" --docs "$documents" --seconds "$seconds" --rounds 1 \
  --only get,put,partition-find,global-find,aggregates --json "$folder/octavo.json" >"$folder/octavo.md"
cat "$folder/octavo.md"

octavo() { jq -r --arg name "$1" '[.. | objects | select(.name? == $name)][0].result' "$folder/octavo.json"; }
printf '\n| operation, 32 connections | Octavo /s | PostgreSQL 15 /s | ratio |\n|---|---:|---:|---:|\n'
row() {
  local ours theirs=${postgres[$2]}
  ours=$(octavo "$3")
  printf '| %s | %.0f | %.0f | %.2f |\n' "$1" "$ours" "$theirs" "$(jq -n "$ours / $theirs")"
}
row 'point read' get 'GET a document, 32 connections'
row 'durable insert' put 'durable PUT, 32 connections'
row '25 documents of the whole database by an index' global-find 'global _find, 25 documents by a global index'
row '25 documents of one partition by an index' partition-find 'partition _find, 25 documents by a local index'
row 'GROUP BY over all documents, 1 connection' group 'GROUP BY over all documents, 1 connection'

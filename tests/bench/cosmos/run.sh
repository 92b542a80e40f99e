#!/bin/sh
# run.sh blog|cars|order [options of its main.mjs]: on a new server with a data folder that goes afterwards, unless KEEP_DATA
# names one. OCTAVO_BINARY: the program, build/octavo if not said.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=${here%/tests/bench/cosmos}
program=$1
shift
binary=${OCTAVO_BINARY:-$root/build/octavo}
unset OCTAVO_BINARY
[ -x "$binary" ] || { echo "no program at $binary: build it first (scripts/run.sh)" >&2; exit 1; }
work_dir=${NPM_WORK_DIR:-$(dirname "$binary")/integration}
"$root/tests/integration/install.sh" "$work_dir"

folder=$(mktemp -d)
server=
stop() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null && wait "$server" || true; }
  rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT TERM
"$binary" serve --data-dir "${KEEP_DATA:-$folder/data}" --port 0 --cosmos-port 0 >"$folder/log" 2>&1 &
server=$!
for _ in $(seq 300); do
  port=$(sed -n 's/.*cosmos_port=\([0-9]*\).*/\1/p' "$folder/log")
  [ -z "$port" ] || break
  kill -0 "$server" 2>/dev/null || break
  sleep 0.1
done
[ -n "$port" ] || { cat "$folder/log" >&2; exit 1; }
if [ "$program" != cars ]; then
  couch_port=$(sed -n 's/.* port=\([0-9]*\).*/\1/p' "$folder/log")
  set -- --couch "http://127.0.0.1:$couch_port" "$@"
fi
node "$work_dir/bench/cosmos/$program/main.mjs" --endpoint "http://127.0.0.1:$port" "$@"

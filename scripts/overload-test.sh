#!/usr/bin/env bash
# Attacks a server of its own in every way of tests/overload at full size, and prints what came of it: about half an
# hour, and 10 GB of disk in $TMPDIR. Run it on a quiet machine.
#
#   scripts/overload-test.sh [NAME...]    only attacks whose titles contain a NAME; `databases`: the 100,000 databases
#
#   OCTAVO_BINARY     the program; default build/octavo
#   DATABASES, TURNS  other numbers than 100,000 databases and 5,000 used in turn
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

export OCTAVO_BINARY=${OCTAVO_BINARY:-$here/../build/octavo}
[[ -x $OCTAVO_BINARY ]] || { echo "overload-test.sh: no program at $OCTAVO_BINARY: build it first" >&2; exit 1; }
command -v node >/dev/null || { echo "overload-test.sh: node is missing (scripts/install-deps.sh)" >&2; exit 1; }
ulimit -n "$(ulimit -Hn)"
exec node "$here/../tests/overload/full.mjs" "$@"

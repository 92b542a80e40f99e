#!/usr/bin/env bash
# Random queries through Microsoft's client, every answer compared with an evaluation of its own.
#   scripts/differential-test.sh --queries 100000
#   scripts/differential-test.sh --seed 7 --round 12 --verbose
#   scripts/differential-test.sh efcore --rounds 300
# Arguments: see tests/differential/main.mjs and efcore/main.mjs. OCTAVO_BINARY names another program than build/octavo.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ $# -gt 0 ] || set -- --queries 10000
export OCTAVO_BINARY="${OCTAVO_BINARY:-$root/build/octavo}"
exec nice -n 10 "$root/tests/differential/run.sh" "$root/build/integration" "$@"

#!/usr/bin/env bash
# Random calls to the server and to a model of its dialect, every reply compared; failures end as a short script.
#   scripts/model-test.sh --minutes 20
#   scripts/model-test.sh --replay /tmp/model-failure-7.json
# Arguments: see tests/model/run.mjs. OCTAVO_BINARY names another program than build/octavo.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ $# -gt 0 ] || set -- --minutes 20
exec nice -n 10 node "$root/tests/model/run.mjs" "$@"

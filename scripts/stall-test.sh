#!/usr/bin/env bash
# Runs the tests on a machine that stalls: their processes, all or some, are held up for up to a second now and then.
# A test that fails here and not otherwise takes time for order, and so may the server.
#
#   scripts/stall-test.sh [argument of ctest…]      BUILD_DIR: a folder that is built, of any preset (default: build)
#
# Left out are the tests that measure.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath "${BUILD_DIR:-$root/build}")

node "$root/tests/stalls/pauses.mjs" "$build" &
pauses=$!
trap 'kill "$pauses" 2>/dev/null; wait "$pauses"' EXIT
ctest --test-dir "$build" --output-on-failure --label-exclude 'overload|instructions' --parallel 4 "$@"

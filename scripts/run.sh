#!/usr/bin/env bash
# Builds Octavo and starts it: http://127.0.0.1:5984, storing in ./data. Arguments go to `octavo serve`:
#   scripts/run.sh --port 6000 --data-dir /tmp/octavo
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

"$root/scripts/install-deps.sh"
# Catch2 and the rest of the tests need not be there to run a server.
cmake -S "$root" -B "$root/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DOCTAVO_TESTS=OFF -DOCTAVO_BENCHMARKS=OFF
cmake --build "$root/build" --target octavo
exec "$root/build/octavo" serve "$@"

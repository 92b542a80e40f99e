#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests. Ends with ctest's summary and its exit code. Arguments go to ctest:
#   scripts/test.sh -R 'config:'
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

"$root/scripts/install-deps.sh"
cmake -S "$root" -B "$root/build" -G Ninja -DCMAKE_BUILD_TYPE=Release
cmake --build "$root/build"
# Servers under test take port 0, any free one, so tests can run side by side.
exec ctest --test-dir "$root/build" --output-on-failure --no-tests=error --parallel "$(nproc)" "$@"

#!/usr/bin/env bash
# Concurrent clients and followers against a server, every reply recorded, the history checked. Ends with the figures, or
# with an error and the seed at the first thing that is wrong.
#
#   scripts/consistency-test.sh --minutes 10
#   scripts/consistency-test.sh --sanitize thread --minutes 10     # or address
#   scripts/consistency-test.sh --seed 7 --histories 8             # the same requests again
#
# Other arguments: see tests/consistency/main.mjs. Builds first, unless OCTAVO_BINARY names a program.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=release build=$root/build
if [[ ${1:-} == --sanitize ]]; then
  case ${2:-} in
    thread) preset=tsan build=$root/build-tsan ;;
    address) preset=asan build=$root/build-asan ;;
    *) echo "consistency-test.sh: --sanitize thread or --sanitize address" >&2; exit 2 ;;
  esac
  export TEST_PATIENCE=5  # such a server is slow
  shift 2
fi
if [[ -z ${OCTAVO_BINARY:-} ]]; then
  (cd "$root" && cmake --preset "$preset")
  cmake --build "$build" --target octavo
  export OCTAVO_BINARY=$build/octavo
fi
[[ $# -gt 0 ]] || set -- --minutes 10
exec nice -n 10 node "$root/tests/consistency/main.mjs" "$@"

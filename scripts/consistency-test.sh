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
build=$root/build
options=(-DCMAKE_BUILD_TYPE=Release)
if [[ ${1:-} == --sanitize ]]; then
  case ${2:-} in
    thread) build=$root/build-tsan options=(-DCMAKE_BUILD_TYPE=Debug -DOCTAVO_BENCHMARKS=OFF -DOCTAVO_SANITIZE=thread) ;;
    address) build=$root/build-asan options=(-DCMAKE_BUILD_TYPE=Debug -DOCTAVO_BENCHMARKS=OFF -DOCTAVO_SANITIZE=address,undefined) ;;
    *) echo "consistency-test.sh: --sanitize thread or --sanitize address" >&2; exit 2 ;;
  esac
  shift 2
fi
if [[ -z ${OCTAVO_BINARY:-} ]]; then
  cmake -S "$root" -B "$build" -G Ninja "${options[@]}"
  cmake --build "$build" --target octavo
  export OCTAVO_BINARY=$build/octavo
fi
[[ $# -gt 0 ]] || set -- --minutes 10
exec nice -n 10 node "$root/tests/consistency/main.mjs" "$@"

#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests. Ends with ctest's summary and its exit code.
#
#   scripts/test.sh                 every test of the release build (ctest -L "fast|full")
#   scripts/test.sh fast            unit tests, corpora, format, names, structure: under three minutes once built
#   scripts/test.sh sanitizers      every test of the release build, and storage, partitioning, server, indexes, kills and
#                                   histories in builds with the address and with the thread sanitizer
#   scripts/test.sh clients         clients in other languages, which are installed in build/clients (tests/clients/run.mjs)
#   scripts/test.sh asan|tsan       the tests of one sanitizer's build alone
#
# Other arguments go to ctest: scripts/test.sh fast -R storage. OCTAVO_SANITIZE_ALL=1 takes every test into the
# sanitizers' builds. What takes longer: scripts/deep-test.sh.
#
# Random campaigns (kills, power loss, model, differential) run a quarter of what .ci/run does; OCTAVO_TEST_DOSE=full
# runs all of it here, too.
#
# Before the summary stands a table of the minutes of each step; one that took a quarter longer than in
# tests/minutes.json is named. After it stand the last lines that each failed test printed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

export OCTAVO_TEST_DOSE=${OCTAVO_TEST_DOSE:-short}
builds=(release) select=(--label-regex '^(fast|full)$') needs=(tests)
case ${1:-} in
  fast) select=(--label-regex '^fast$'); shift ;;
  clients) select=(--label-regex '^clients$') needs+=(clients); shift ;;
  sanitizers) builds+=(asan tsan); shift ;;
  asan | tsan) builds=("$1"); shift ;;
esac

report=$root/build/test-report
rm -rf "$report"
mkdir -p "$report"
step() {  # step NAME COMMAND…: runs it and notes its seconds
  local name=$1 begun=$SECONDS status=0
  shift
  "$@" || status=$?
  printf '%s\t%s\n' "$name" "$((SECONDS - begun))" >>"$report/steps.tsv"
  return "$status"
}

step 'install' "$root/scripts/install-deps.sh" "${needs[@]}"
ccache --zero-stats >/dev/null

# One build after the other: each uses all processors, and none needs the memory of two.
declare -A folder=([release]="$root/build" [asan]="$root/build-asan" [tsan]="$root/build-tsan")
build_one() {
  (cd "$root" && cmake --preset "$1" -DOCTAVO_TESTS=ON -DOCTAVO_NPM_DIR="$root/build/integration" \
    -DOCTAVO_SANITIZE_ALL="${OCTAVO_SANITIZE_ALL:-0}") && cmake --build "${folder[$1]}"
}
for build in "${builds[@]}"; do step "build $build" build_one "$build"; done
ccache --print-stats >"$report/ccache.tsv"

# One ctest over all builds. Servers under test take port 0, any free one, so tests can run side by side.
all="$root/build/all-tests"
mkdir -p "$all"
for build in "${builds[@]}"; do printf 'subdirs("%s")\n' "${folder[$build]}"; done >"$all/CTestTestfile.cmake"
status=0
# Many tests wait for the server's own delays, so more of them run than there are processors; long ones begin first.
step 'tests' ctest --test-dir "$all" --output-on-failure --no-tests=error --parallel "$((2 * $(nproc)))" "${select[@]}" \
  --output-junit "$report/tests.xml" "$@" | tee "$report/ctest.log" || status=$?

node "$root/tests/minutes.mjs" "$report" "$root/tests/minutes.json" || true
# What the failed tests printed, and ctest's own summary once more, as the last lines.
[[ $status == 0 ]] || node "$root/tests/failures.mjs" "$report/tests.xml" || true
sed -n '/^[0-9]*% tests passed/,$p' "$report/ctest.log" | grep -v '^$' || true
exit "$status"

#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests. Ends with ctest's summary and its exit code. With `sanitizers` as
# the first argument the tests run once more in builds with the address and undefined behaviour sanitizers and with the
# thread sanitizer; other arguments go to ctest:
#   scripts/test.sh sanitizers -R 'config:'
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

builds=(release)
if [[ ${1:-} == sanitizers ]]; then
  builds+=(asan tsan)
  shift
fi
"$root/scripts/install-deps.sh" tests

# One build after the other: each uses all processors, and none needs the memory of two.
declare -A folder=([release]="$root/build" [asan]="$root/build-asan" [tsan]="$root/build-tsan")
for build in "${builds[@]}"; do
  (cd "$root" && cmake --preset "$build" -DCMAKE_UNITY_BUILD=ON -DOCTAVO_NPM_DIR="$root/build/integration")
  cmake --build "${folder[$build]}"
done

# One ctest over all builds.
all="$root/build/all-tests"
mkdir -p "$all"
for build in "${builds[@]}"; do printf 'subdirs("%s")\n' "${folder[$build]}"; done >"$all/CTestTestfile.cmake"

# A finding of a sanitizer ends the program, so that no test passes over it.
export ASAN_OPTIONS="detect_stack_use_after_return=1:strict_string_checks=1:abort_on_error=1"
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1"
export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1"
# Servers under test take port 0, any free one, so tests can run side by side.
exec ctest --test-dir "$all" --output-on-failure --no-tests=error --parallel "$(nproc)" "$@"

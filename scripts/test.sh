#!/usr/bin/env bash
# Installs what is missing, builds, and runs all tests. Ends with ctest's summary and its exit code. With `sanitizers` as
# the first argument the tests run once more in builds with the address and undefined behaviour sanitizers and with the
# thread sanitizer, with `asan` or `tsan` in the one build only; other arguments go to ctest:
#   scripts/test.sh sanitizers -R 'config:'
#   scripts/test.sh tsan
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

builds=(release)
case ${1:-} in
  sanitizers) builds+=(asan tsan); shift ;;
  asan | tsan) builds=("$1"); shift ;;
esac
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

# Servers under test take port 0, any free one, so tests can run side by side.
exec ctest --test-dir "$all" --output-on-failure --no-tests=error --parallel "$(nproc)" "$@"

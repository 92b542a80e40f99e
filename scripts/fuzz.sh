#!/usr/bin/env bash
# Fuzzes the targets of tests/fuzz, or the one named, and packs what was learnt into its corpus.
#
#   scripts/fuzz.sh [--fast] [target…] [runs]        runs: 10,000,000 of each unless said otherwise
#
# --fast: without sanitizers, several times as many runs a second: what a target compares is looked at all the same, and
# what is wrong with memory only when it ends the process.
#
# Needs clang 19 with its runtime libraries (Debian: clang-19 libclang-rt-19-dev). An input that breaks something is left
# in build-fuzz/found/<target>: give it a name that says what it broke, and keep it in tests/fuzz/corpus/<target>.
set -euo pipefail
cd "$(dirname "$0")/.."
targets=()
runs=10000000
build=build-fuzz
sanitize=ON
for argument in "$@"; do
  if [[ $argument == --fast ]]; then
    build=build-fuzz-fast
    sanitize=OFF
  elif [[ $argument =~ ^[0-9]+$ ]]; then
    runs=$argument
  else
    targets+=("$argument")
  fi
done
if ((${#targets[@]} == 0)); then
  mapfile -t targets < <(sed -n 's/^octavo_fuzz_target(\([a-z_]*\).*/\1/p' tests/fuzz/CMakeLists.txt)
fi
command -v clang++-19 >/dev/null ||
  { echo "clang++-19 is missing: apt-get install clang-19 libclang-rt-19-dev" >&2; exit 1; }

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DOCTAVO_FUZZ=ON -DOCTAVO_FUZZ_SANITIZE="$sanitize" \
  -DOCTAVO_ASSERTIONS=ON -DOCTAVO_BENCHMARKS=OFF \
  -DCMAKE_CXX_COMPILER=clang++-19
cmake --build "$build" --target octavo_fuzz_pack "${targets[@]/#/octavo_fuzz_}"

# Files of the targets that store something: memory is the fastest disk.
if [[ -d /dev/shm ]]; then export TMPDIR=/dev/shm; fi
# The servers inside a target live until the process ends: leaks are the business of the unit tests. The rest makes runs
# several times as fast: short stack traces of allocations, and few freed bytes kept.
export ASAN_OPTIONS=detect_leaks=0:handle_abort=1:malloc_context_size=2:quarantine_size_mb=8:detect_stack_use_after_return=0
# The longest input, where short ones say as much and run faster.
declare -A max_len=([data_file]=40 [long_key]=60 [revision_tree]=60 [token]=100 [connection]=700)
# A whole server has too many counters to look at after each run: edges alone make twice as many runs.
declare -A guidance=([connection]="-entropic=0 -use_counters=0")
failed=()
for target in "${targets[@]}"; do
  program=$build/tests/fuzz/octavo_fuzz_$target
  kept=tests/fuzz/corpus/$target  # by name: what once broke something
  learnt=$kept.pack               # by the fuzzer
  grown=$build/corpus/$target
  found=$build/found/$target
  mkdir -p "$kept" "$grown" "$found"
  if [[ -f $learnt ]]; then "$build/tests/fuzz/octavo_fuzz_pack" unpack "$learnt" "$grown"; fi
  length=${max_len[$target]:-400}
  echo "== $target: $runs runs"
  if ! "$program" -runs="$runs" -max_len="$length" -timeout=60 -rss_limit_mb=4000 -print_final_stats=1 \
    ${guidance[$target]:-} -artifact_prefix="$found/" "$grown" "$kept"; then
    failed+=("$target")
    continue
  fi
  # The fewest inputs that reach everything reached; named ones stay as they are.
  smallest=$(mktemp -d)
  "$program" -set_cover_merge=1 -max_len=1000 -timeout=60 "$smallest" "$grown" "$kept"
  "$build/tests/fuzz/octavo_fuzz_pack" pack "$smallest" "$learnt"
  rm -rf "$smallest"
done
if ((${#failed[@]} > 0)); then
  echo "found something in: ${failed[*]} (see $build/found)" >&2
  exit 1
fi

#!/usr/bin/env bash
# What takes too long for every change: all tests in the sanitizers' builds, and the long campaigns. Installs what is
# missing, builds, and stops at the first campaign that finds something. Some hours on two cores.
#
#   scripts/deep-test.sh                        all of them
#   scripts/deep-test.sh sanitizers matrix      those named
#
# docs/reliability.md says what each one shows, and has its last figures.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$here/../build
export OCTAVO_TEST_DOSE=full

sanitizers() { OCTAVO_SANITIZE_ALL=1 "$here/test.sh" sanitizers; }
matrix() { "$build/tests/octavo_test_api" "[matrix]"; }  # faults at every storage call of every request
crash() { "$here/crash-test.sh" 2000 1000; }
consistency() {
  "$here/consistency-test.sh" --minutes 10
  "$here/consistency-test.sh" --sanitize thread --minutes 10
}
model() { "$here/model-test.sh" --minutes 20; }
differential() { "$here/differential-test.sh" --queries 100000; }
stalls() { "$here/stall-test.sh"; }
overload() { "$here/overload-test.sh"; }
regret() {  # what plans cost against the best index, as the data grows; PostgreSQL's beside it where it is installed
  local documents postgres=/usr/lib/postgresql/15/bin
  run_regret() { OCTAVO_BINARY="$build/octavo" node "$here/../tests/regret/regret.mjs" --cap 4 "$@"; }
  for documents in 10000 1000000; do
    run_regret --documents "$documents" --queries 2000
    [[ ! -x $postgres/initdb ]] || node "$here/../tests/regret/postgres.mjs" --documents "$documents" --queries 2000
  done
  run_regret --data telemetry --documents 300000 --queries 2000
  run_regret --documents 100000 --queries 50000 --sql 20000 --mixed 10000 --unordered 20000
  run_regret --documents 10000000 --queries 150 --sql 80 --mixed 60 --unordered 80  # 15 GB of disk
}
fuzz() { "$here/fuzz.sh" --fast; }
analysis() { "$here/static-analysis.sh"; }
mutants() { node "$here/../tests/mutants/run.mjs" --all; }  # faults planted in the source: the campaigns find each
image() { "$here/image-test.sh"; }  # as root

campaigns=(sanitizers matrix crash consistency model differential stalls overload regret fuzz analysis mutants image)
chosen=("$@")
(($# > 0)) || chosen=("${campaigns[@]}")
for campaign in "${chosen[@]}"; do
  [[ " ${campaigns[*]} " == *" $campaign "* ]] ||
    { echo "deep-test.sh: there is no campaign $campaign; there are: ${campaigns[*]}" >&2; exit 2; }
done

"$here/install-deps.sh" tests
(cd "$here/.." && cmake --preset release -DOCTAVO_TESTS=ON)
cmake --build "$build"
for campaign in "${chosen[@]}"; do
  begun=$SECONDS
  echo "== $campaign"
  "$campaign"
  echo "== $campaign: $(((SECONDS - begun) / 60)) minutes, nothing found"
done

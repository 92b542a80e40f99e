#!/usr/bin/env bash
# The long run of the crash tests: crash-test.sh [CYCLES [IMAGES]], 2000 and 1000 if not said. Builds first.
#
# CYCLES times a server is killed under load, started again and compared with what it acknowledged. Then IMAGES folders
# as a power loss could leave them are checked, once with each durability. After that, one folder is checked for each end
# of a sync in a short run, one for the moment before it, and the same for the first start on a folder of an earlier
# format. The script exits with an error at the first loss; the output then names the seed and the folder.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cycles=${1:-2000}
images=${2:-1000}
build=${BUILD_DIR:-$root/build}

if [[ -z ${OCTAVO_BINARY:-} ]]; then
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release
  cmake --build "$build" --target octavo octavo_file_layer
fi
export OCTAVO_BINARY=${OCTAVO_BINARY:-$build/octavo}
export FILE_LAYER_LIBRARY=${FILE_LAYER_LIBRARY:-$build/tests/crash/libfile_layer.so}
cd "$root/tests/crash"
node killing.mjs --cycles "$cycles"
for durability in commit relaxed; do
  node power_loss.mjs --durability "$durability" --images "$images" --seconds 10
  node power_loss.mjs --durability "$durability" --every --seconds 0.3
done
node upgrade.mjs --every

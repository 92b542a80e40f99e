#!/bin/sh
# Partition keys for connected cars on a server of its own: scripts/cars.sh [--cars N] [--throughput RU/s].
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
exec "$root/tests/bench/cosmos/run.sh" cars "$@"

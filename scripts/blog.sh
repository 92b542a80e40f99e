#!/bin/sh
# The blog of Azure's article on a server of its own: scripts/blog.sh [--users N] [--json FILE] … (blog/main.mjs --help).
# scripts/cars.sh does the same with the partition keys of connected cars. Building comes first: scripts/run.sh.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
exec "$root/tests/bench/cosmos/run.sh" blog "$@"

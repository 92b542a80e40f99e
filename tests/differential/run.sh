#!/bin/sh
# run.sh WORK_DIR [arguments of main.mjs]: with the npm packages of the integration tests, which are installed in WORK_DIR.
# CTest calls it with OCTAVO_BINARY set.
set -eu
source_dir=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work_dir=$1
shift

# A quarter of the queries (tests/dose.mjs); a later option wins.
[ "${OCTAVO_TEST_DOSE:-}" != short ] || set -- "$@" --queries 250

"$source_dir/../integration/install.sh" "$work_dir"
# Copied, as node looks for packages beside a module's real path.
mkdir -p "$work_dir/differential"
cp "$source_dir"/*.mjs "$work_dir/differential/"
exec node "$work_dir/differential/main.mjs" "$@"

#!/bin/sh
# run.sh WORK_DIR [efcore] [arguments of main.mjs, or efcore/main.mjs]: with the npm packages of the integration tests,
# which are installed in WORK_DIR. CTest calls it with OCTAVO_BINARY set.
set -eu
source_dir=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work_dir=$1
shift
program=main.mjs

if [ "${1:-}" = efcore ]; then
  shift
  program=efcore/main.mjs
# A quarter of the queries (tests/dose.mjs); a later option wins.
elif [ "${OCTAVO_TEST_DOSE:-}" = short ]; then
  set -- "$@" --queries 250
fi

"$source_dir/../integration/install.sh" "$work_dir"
# Copied, as node looks for packages beside a module's real path.
mkdir -p "$work_dir/differential/efcore"
cp "$source_dir"/*.mjs "$work_dir/differential/"
cp "$source_dir"/efcore/*.mjs "$work_dir/differential/efcore/"
exec node "$work_dir/differential/$program" "$@"

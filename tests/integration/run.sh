#!/bin/sh
# Runs one suite: run.sh WORK_DIR SUITE. CTest calls it with OCTAVO_BINARY set.
set -eu
source_dir=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work_dir=$1
suite=$2

[ -x "${OCTAVO_BINARY:?set it to the octavo program}" ] ||
  { echo "no program at $OCTAVO_BINARY: build it first" >&2; exit 1; }

"$source_dir/install.sh" "$work_dir"
export OCTAVO_SOURCE_DIR="${source_dir%/tests/integration}"
cd "$work_dir"
# In the folder of its subject.
file=$(cd "$source_dir" && find . -name "$suite.test.mjs")
[ -n "$file" ] || { echo "no suite is named $suite" >&2; exit 2; }
exec node --test --test-reporter=spec "$file"

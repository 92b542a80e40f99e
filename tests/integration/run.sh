#!/bin/sh
# Runs one suite: run.sh WORK_DIR SUITE. CTest calls it with OCTAVO_BINARY set.
#
# The packages are installed once per build folder, in WORK_DIR, so that the source tree stays as it was cloned.
set -eu
source_dir=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work_dir=$1
suite=$2

command -v node >/dev/null || { echo "node is missing: install nodejs and npm (scripts/install-deps.sh)" >&2; exit 1; }
[ -x "${OCTAVO_BINARY:?set it to the octavo program}" ] || { echo "no program at $OCTAVO_BINARY: build it first" >&2; exit 1; }

mkdir -p "$work_dir"
# One suite prepares while the others wait: CTest starts several at once.
exec 9>"$work_dir/.lock"
flock 9
stamp=$(cat "$source_dir/package.json" "$source_dir/package-lock.json" "$source_dir/.npmrc" | cksum)
if [ "$(cat "$work_dir/.installed" 2>/dev/null)" != "$stamp" ]; then
  rm -f "$work_dir/.installed"
  cp "$source_dir/package.json" "$source_dir/package-lock.json" "$source_dir/.npmrc" "$work_dir/"
  (cd "$work_dir" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
  echo "$stamp" >"$work_dir/.installed"
fi
# Copied, not linked: node looks for packages beside a module's real path.
for file in "$source_dir"/*.mjs; do
  name=$(basename "$file")
  cmp -s "$file" "$work_dir/$name" || { cp "$file" "$work_dir/$name.new" && mv "$work_dir/$name.new" "$work_dir/$name"; }
done
flock -u 9
exec 9>&-

export OCTAVO_SOURCE_DIR="${source_dir%/tests/integration}"
cd "$work_dir"
exec node --test --test-reporter=spec "$suite.test.mjs"

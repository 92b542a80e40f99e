#!/bin/sh
# install.sh WORK_DIR: the npm packages and the programs that use them, in WORK_DIR, so that the source tree stays as it
# was cloned. The packages are installed once per build folder.
set -eu
source_dir=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work_dir=$1

command -v node >/dev/null || { echo "node is missing: install nodejs and npm (scripts/install-deps.sh)" >&2; exit 1; }

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
copy() {
  cmp -s "$1" "$2" || { mkdir -p "$(dirname "$2")" && cp "$1" "$2.new" && mv "$2.new" "$2"; }
}
for file in "$source_dir"/*.mjs "$source_dir"/*/*.mjs; do
  copy "$file" "$work_dir/${file#"$source_dir/"}"
done
# The programs that use the packages, and what they import, where they stand beside each other in the source.
for file in "$source_dir"/../support/*.mjs "$source_dir"/../bench/cosmos/*.mjs "$source_dir"/../bench/cosmos/*/*.mjs; do
  copy "$file" "$work_dir/${file#"$source_dir/../"}"
done

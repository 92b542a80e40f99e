#!/usr/bin/env bash
# Fails when a name in one library's sources breaks the naming rules of .clang-tidy: names.sh BUILD_FOLDER TARGET.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$1 target=$2
mapfile -t units < <(jq --raw-output '.[].file' "$build/compile_commands.json" | grep "/$target\.dir/Unity/" | sort -u)
((${#units[@]} > 0)) || { echo "$build/compile_commands.json names no sources of $target" >&2; exit 1; }
findings=$(clang-tidy-19 -p "$build" --quiet --config-file="$root/.clang-tidy" \
  --checks='-*,readability-identifier-naming' --extra-arg=-Wno-error --extra-arg=-Wno-deprecated-declarations \
  --header-filter="^$root/(api|config|partitioning|query|server|storage)/" "${units[@]}" 2>/dev/null) || true
# Errors of the compiler count too: what cannot be read has not been looked at.
if grep --quiet -E '\[readability-identifier-naming|error:' <<<"$findings"; then
  echo "$findings"
  exit 1
fi

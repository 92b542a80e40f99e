#!/usr/bin/env bash
# Fails when a name in one library's sources breaks the naming rules of .clang-tidy: names.sh BUILD_FOLDER TARGET.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$1 target=$2
mapfile -t units < <(jq --raw-output '.[].file' "$build/compile_commands.json" | grep "/$target\.dir/Unity/" | sort -u)
((${#units[@]} > 0)) || { echo "$build/compile_commands.json names no sources of $target" >&2; exit 1; }

# Sources that were looked at before, with the same rules, need no second look: reading them takes minutes.
cd "$root"
key=$(find api config partitioning query server storage .clang-tidy "${BASH_SOURCE[0]}" -type f -print0 | sort -z |
  xargs -0 sha256sum | cat - <(echo "$target"; clang-tidy-19 --version) | sha256sum | cut -d' ' -f1)
known=${XDG_CACHE_HOME:-$HOME/.cache}/octavo-names
[[ ! -e $known/$key ]] || exit 0

findings=$(clang-tidy-19 -p "$build" --quiet --config-file="$root/.clang-tidy" \
  --checks='-*,readability-identifier-naming' --extra-arg=-Wno-error --extra-arg=-Wno-deprecated-declarations \
  --header-filter="^$root/(api|config|partitioning|query|server|storage)/" "${units[@]}" 2>/dev/null) || true
# Errors of the compiler count too: what cannot be read has not been looked at.
if grep --quiet -E '\[readability-identifier-naming|error:' <<<"$findings"; then
  echo "$findings"
  exit 1
fi
mkdir -p "$known"
find "$known" -type f -mtime +30 -delete
touch "$known/$key"

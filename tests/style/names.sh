#!/usr/bin/env bash
# Fails when a name in one library's sources breaks the naming rules of .clang-tidy: names.sh BUILD_FOLDER TARGET.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$1 target=$2
mapfile -t units < <(jq --raw-output '.[].file' "$build/compile_commands.json" | grep "/$target\.dir/Unity/" | sort -u)
((${#units[@]} > 0)) || { echo "$build/compile_commands.json names no sources of $target" >&2; exit 1; }

# Sources that were checked before, with the same rules, are not checked again: reading them takes minutes. A library's
# sources include only their own layer and those below.
cd "$root"
case $target in
  octavo_base) layers=(base) ;;
  octavo_config) layers=(base config) ;;
  octavo_storage) layers=(base config storage) ;;
  octavo_partitioning) layers=(base config storage partitioning) ;;
  octavo_query*) layers=(base config storage partitioning query) ;;
  octavo_api) layers=(base config storage partitioning query api) ;;
  *) layers=(base config storage partitioning query api server) ;;
esac
key=$(find "${layers[@]}" .clang-tidy "${BASH_SOURCE[0]}" -type f -print0 | sort -z |
  xargs -0 sha256sum | cat - <(echo "$target"; clang-tidy-19 --version) | sha256sum | cut -d' ' -f1)
known=${XDG_CACHE_HOME:-$HOME/.cache}/octavo-names
[[ ! -e $known/$key ]] || exit 0

findings=$(clang-tidy-19 -p "$build" --quiet --config-file="$root/.clang-tidy" \
  --checks='-*,readability-identifier-naming' --extra-arg=-Wno-error --extra-arg=-Wno-deprecated-declarations \
  --header-filter="^$root/(api|base|config|partitioning|query|server|storage)/" "${units[@]}" 2>/dev/null) || true
# Errors of the compiler count too: what cannot be read has not been looked at.
if grep --quiet -E '\[readability-identifier-naming|error:' <<<"$findings"; then
  echo "$findings"
  exit 1
fi
mkdir -p "$known"
find "$known" -type f -mtime +30 -delete
touch "$known/$key"

#!/usr/bin/env bash
# clang-tidy over all sources of the product, with the rules of .clang-tidy; any finding fails. Arguments: the build folder
# whose compile commands are used (build if not said), and sources to look at instead of all of them.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath "${1:-$root/build}")
shift || true
command -v clang-tidy-19 >/dev/null || { echo "clang-tidy-19 is missing: apt-get install clang-tidy-19" >&2; exit 1; }

folders='api|config|partitioning|query|server|storage'
sources=("$@")
if ((${#sources[@]} == 0)); then
  # In a unity build the files that include the sources: each header is then read once for several of them.
  mapfile -t sources < <(jq --raw-output '.[].file' "$build/compile_commands.json" |
    grep -E "^($root|$build)/($folders)/" | sort -u)
fi
((${#sources[@]} > 0)) || { echo "$build/compile_commands.json names no sources" >&2; exit 1; }

# A unity file includes sources on purpose; precompiled headers are GCC's.
if printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy-19 -p "$build" --quiet \
  --config-file="$root/.clang-tidy" --checks=-bugprone-suspicious-include \
  --header-filter="^$root/($folders)/" 2>/dev/null; then
  echo "clang-tidy finds nothing in ${#sources[@]} translation units."
else
  exit 1
fi

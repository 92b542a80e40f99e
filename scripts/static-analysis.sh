#!/usr/bin/env bash
# clang-tidy over all sources of the product, or those named, with the rules of .clang-tidy; any finding fails.
#
#   scripts/static-analysis.sh [source…]        BUILD_DIR (default: build) gets a folder for it; JOBS run side by side
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath -m "${BUILD_DIR:-$root/build}")
command -v clang-tidy-19 >/dev/null || { echo "clang-tidy-19 is missing: apt-get install clang-tidy-19" >&2; exit 1; }

# Configured apart from what is built: a few large unity files, so that each header is read a few times only.
commands=$build/static-analysis
cmake -S "$root" -B "$commands" -G Ninja -DCMAKE_BUILD_TYPE=Release -DOCTAVO_TESTS=OFF -DOCTAVO_BENCHMARKS=OFF \
  -DCMAKE_UNITY_BUILD=ON >/dev/null
sources=("$@")
if ((${#sources[@]} == 0)); then
  mapfile -t sources < <(jq --raw-output '.[].file' "$commands/compile_commands.json" | sort -u)
fi
((${#sources[@]} > 0)) || { echo "$commands/compile_commands.json names no sources" >&2; exit 1; }

# A unity file includes sources on purpose.
if printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "${JOBS:-$(nproc)}" clang-tidy-19 -p "$commands" --quiet \
  --config-file="$root/.clang-tidy" --checks=-bugprone-suspicious-include \
  --header-filter="^$root/(analytics|api|base|config|partitioning|query|server|storage)/" 2>/dev/null; then
  echo "clang-tidy finds nothing in ${#sources[@]} translation units."
else
  exit 1
fi

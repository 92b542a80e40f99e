#!/usr/bin/env bash
# Fails when a source is not laid out as .clang-format says. With --fix, lays them out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
action=(--dry-run --Werror)
[[ ${1:-} != --fix ]] || action=(-i)
find api config partitioning query server storage tests \( -name '*.cpp' -o -name '*.h' \) -print0 |
  xargs -0 -n 40 -P 2 clang-format-19 "${action[@]}" ||
  { echo "Lay the sources out: tests/style/format.sh --fix" >&2; exit 1; }

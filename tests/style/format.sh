#!/bin/sh
# Checks that every C++ source has the layout that .clang-format describes. `--fix` rewrites the files that have not.
cd "$(dirname "$0")/../.." || exit 1
formatter=$(command -v clang-format-19) ||
  { echo "clang-format-19 is missing: scripts/install-deps.sh installs it"; exit 1; }
mode="--dry-run --Werror"
[ "$1" = "--fix" ] && mode="-i"
find . -type d \( -name node_modules -o -name 'build*' -o -name '.?*' \) -prune -o \
  \( -name '*.h' -o -name '*.cpp' \) -print0 | xargs -0 -P 2 -n 40 "$formatter" $mode

#!/usr/bin/env bash
# Checks what can be checked of the Dockerfile without building it:
#   - every package it installs exists in Debian, and is known to scripts/install-deps.sh;
#   - every file it copies exists and is not kept out by .dockerignore;
#   - its label has the version of CMakeLists.txt;
#   - a changed source compiles little again, and the number of compilers can be limited;
#   - compose.yaml has no default values, which podman-compose 1.0.3 hands on as they are written;
#   - the program runs with nothing but the files of the final stage (as root), which has what DuckDB's library needs.
# scripts/image-test.sh builds it.
# usage: dockerfile_steps.sh [PROGRAM]   (default build/octavo)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=${1:-$root/build/octavo}
failures=0

fail() {
  echo "FAIL: $*" >&2
  failures=$((failures + 1))
}

# The Dockerfile's instructions, one per line: comments taken out, continuation lines joined.
instructions() {
  sed -e 's/[[:space:]]*$//' -e '/^[[:space:]]*#/d' -e ':join' -e '/\\$/{N;s/\\\n[[:space:]]*/ /;b join' -e '}' \
    "$root/Dockerfile"
}

# What `apt-get install` installs, one package per line.
packages_of_image() {
  instructions | awk '
    $1 == "RUN" {
      count = split($0, commands, /&&|;/)
      for (i = 1; i <= count; i++) {
        if (commands[i] !~ /apt-get +install/) continue
        sub(/.*apt-get +install/, "", commands[i])
        words = split(commands[i], word, / +/)
        for (j = 1; j <= words; j++) if (word[j] != "" && word[j] !~ /^-/) print word[j]
      }
    }'
}

mapfile -t packages < <(packages_of_image)
((${#packages[@]} > 0)) || fail "no packages found"

known=$(apt-cache show --no-all-versions "${packages[@]}" 2>/dev/null |
  sed -nE 's/^Package: //p' || true)
for package in "${packages[@]}"; do
  grep -qxF "$package" <<<"$known" || fail "no package $package in apt"
  grep -qE "(^| )${package//+/\\+}( |$)" "$root/scripts/install-deps.sh" ||
    fail "$package is in the Dockerfile but not in scripts/install-deps.sh"
done

while read -r source; do
  [[ -e $root/$source ]] || fail "COPY: there is no $source"
  grep -qxF "!${source%/}" "$root/.dockerignore" || grep -qxF "!${source%/}/" "$root/.dockerignore" ||
    fail "COPY: .dockerignore keeps out $source"
done < <(instructions | awk '$1 == "COPY" && $2 !~ /^--from/ { for (i = 2; i < NF; i++) print $i }')

# What CMake enters in a build without tests and benchmarks has to be in the image's context.
while read -r folder; do
  instructions | grep -qE "^COPY $folder/? " || fail "CMakeLists.txt needs $folder/, which the Dockerfile does not copy"
done < <(sed -nE 's/^add_subdirectory\(([a-z]+)\)/\1/p' "$root/CMakeLists.txt")

version=$(sed -nE 's/^project\(octavo VERSION ([0-9.]+) .*/\1/p' "$root/CMakeLists.txt")
instructions | grep -qF "org.opencontainers.image.version=\"$version\"" || fail "the label of the version is not $version"

instructions | grep -q -- '--mount=type=cache.*cmake --build.*--parallel "\$JOBS"' ||
  fail "the build has no cache for the compiler, or no limit for the number of compilers"
! grep -E '^[^#]*\$\{[A-Z_]+:?-' "$root/compose.yaml" || fail "compose.yaml has a variable with a default value"

if [[ ! -x $program ]]; then
  fail "no program at $program: build it first, or name it"
elif ((EUID == 0)); then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  "$root/scripts/image-root.sh" "$program" "$folder/image"
  found=$(chroot "$folder/image" /usr/bin/octavo version) || fail "the program does not run with the files of the image"
  [[ -e $folder/image/lib/x86_64-linux-gnu/libdl.so.2 ]] || fail "libdl.so.2, which DuckDB's library needs, is missing"
  [[ $found == "octavo $version" ]] || fail "the program in the image says: $found"
  [[ $(stat -c '%u:%g %a' "$folder/image/data") == "5984:0 770" ]] || fail "/data does not belong to the user of the image"
else
  echo "Not root: the files of the image are not tried."
fi

((failures == 0)) || exit 1
echo "The Dockerfile's packages, sources and files are in order."

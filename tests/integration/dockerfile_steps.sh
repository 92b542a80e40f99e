#!/usr/bin/env bash
# Checks what can be checked of the Dockerfile without building it:
#   - every package it installs exists in Debian, and those of the build stage are known to scripts/install-deps.sh;
#   - every file it copies exists and is not kept out by .dockerignore;
#   - every shared library the program needs comes with the packages of the final stage.
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
  sed -e 's/[[:space:]]*$//' -e '/^[[:space:]]*#/d' -e ':join' -e '/\\$/{N;s/\\\n[[:space:]]*/ /;b join' -e '}' "$root/Dockerfile"
}

# packages_of_stage N: what `apt-get install` of the N-th stage installs, one per line.
packages_of_stage() {
  instructions | awk -v wanted="$1" '
    $1 == "FROM" { stage++ }
    $1 == "RUN" && stage == wanted {
      count = split($0, commands, /&&|;/)
      for (i = 1; i <= count; i++) {
        if (commands[i] !~ /apt-get +install/) continue
        sub(/.*apt-get +install/, "", commands[i])
        words = split(commands[i], word, / +/)
        for (j = 1; j <= words; j++) if (word[j] != "" && word[j] !~ /^-/) print word[j]
      }
    }'
}

mapfile -t build_packages < <(packages_of_stage 1)
mapfile -t runtime_packages < <(packages_of_stage 2)
((${#build_packages[@]} > 0)) || fail "no packages found in the build stage"
((${#runtime_packages[@]} > 0)) || fail "no packages found in the final stage"

known=$(apt-cache show --no-all-versions "${build_packages[@]}" "${runtime_packages[@]}" 2>/dev/null |
  sed -nE 's/^Package: //p' || true)
for package in "${build_packages[@]}" "${runtime_packages[@]}"; do
  grep -qxF "$package" <<<"$known" || fail "no package $package in apt"
done
for package in "${build_packages[@]}"; do
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

if [[ -x $program ]]; then
  # A library is there when its package is listed, comes along as a dependency, or is part of every Debian.
  provided=$(
    printf '%s\n' "${runtime_packages[@]}"
    apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
      --installed "${runtime_packages[@]}" | sed -nE 's/^(\w[^ :]*)(:.*)?$/\1/p'
    dpkg-query --show --showformat='${Package} ${Essential}\n' | awk '$2 == "yes" { print $1 }'
  )
  mapfile -t libraries < <(ldd "$program" | sed -nE 's/.*=> (\/[^ ]+) .*/\1/p')
  # With a merged /usr, dpkg may know a file with /usr or without: ask for both, and compare without.
  owners=$(printf '%s\n' "${libraries[@]#/usr}" "${libraries[@]/#\/lib/\/usr\/lib}" | sort -u |
    xargs dpkg -S 2>/dev/null | sed -E 's/^([^:]+)(:[^:]+)?: (\/usr)?(.*)/\4 \1/' || true)
  for library in "${libraries[@]#/usr}"; do
    owner=$(awk -v library="$library" '$1 == library { print $2; exit }' <<<"$owners")
    if [[ -z $owner ]]; then
      fail "no package owns $library"
    elif ! grep -qxF "$owner" <<<"$provided"; then
      fail "$library is in $owner, which the final stage does not install"
    fi
  done
  ldd "$program" | grep "not found" && fail "libraries are missing here"
else
  fail "no program at $program: build it first, or name it"
fi

((failures == 0)) || exit 1
echo "The Dockerfile's packages, sources and libraries are in order."

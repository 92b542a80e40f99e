#!/usr/bin/env bash
# Installs what Octavo needs to be built on Debian 12; with the argument `tests`, also what its tests need, and with `tests
# clients`, also what the clients in other languages need. Does nothing when all of it is there.
set -euo pipefail

packages=(
  # tools
  g++ cmake ninja-build ccache mold pkg-config
  # libraries
  libboost1.81-dev libboost-json1.81-dev libboost-url1.81-dev
  libsimdjson-dev liblmdb-dev libspdlog-dev libfmt-dev libtomlplusplus-dev libcli11-dev
  libssl-dev libicu-dev libpcre2-dev zlib1g-dev libzstd-dev prometheus-cpp-dev
  libmozjs-102-dev liblucene++-dev libstemmer-dev
)
if [[ ${1:-} == tests ]]; then
  packages+=(catch2 ca-certificates clang-19 clang-format-19 curl jq libclang-rt-19-dev llvm-19 lmdb-utils openssl
             universal-ctags valgrind wrk python3-venv)
  # Debian's npm brings hundreds of packages and does not go well with a Node.js from elsewhere.
  command -v node >/dev/null || packages+=(nodejs)
  command -v npm >/dev/null || packages+=(npm)
fi
if [[ ${2:-} == clients ]]; then
  command -v javac >/dev/null || packages+=(default-jdk-headless)
  command -v mvn >/dev/null || packages+=(maven)
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "All packages are installed."
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null || { echo "Run this as root, or install sudo. Missing: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
echo "Installing: ${missing[*]}"
"${as_root[@]}" apt-get update --quiet
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes --no-install-recommends "${missing[@]}"

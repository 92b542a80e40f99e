#!/bin/sh
# install.sh FOLDER: compiles the suites in FOLDER, with the clients that Cargo.lock names.
set -eu
source_dir=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
folder=$1

PATH="$PATH:$HOME/.cargo/bin"
command -v cargo >/dev/null || { echo "skipped: rust: the Rust tool chain is missing"; exit 77; }
version=$(cargo --version | cut -d ' ' -f 2)
[ "$(printf '%s\n1.89\n' "$version" | sort -V | head -n 1)" = 1.89 ] ||
  { echo "skipped: rust: cargo is $version, and 1.89 is needed"; exit 77; }
CARGO_TARGET_DIR="$folder" exec cargo build --quiet --locked --jobs 2 --manifest-path "$source_dir/Cargo.toml"

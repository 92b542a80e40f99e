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
export CARGO_TARGET_DIR="$folder"
cargo build --quiet --locked --jobs 2 --manifest-path "$source_dir/Cargo.toml"

# The tests of azure_data_cosmos are in its package, with versions of their own. A category chooses those for the emulator.
package=$(cargo metadata --locked --format-version 1 --manifest-path "$source_dir/Cargo.toml" | tr ',' '\n' |
  sed -n 's|^"manifest_path":"\(.*/azure_data_cosmos-[0-9.]*\)/Cargo.toml"$|\1|p')
if [ "$(cat "$folder/.sdktests" 2>/dev/null)" != "$package" ]; then
  rm -rf "$folder/azure_data_cosmos" "$folder/sdktests/debug/deps/emulator-"*
  cp -r "$package" "$folder/azure_data_cosmos"
  chmod -R u+w "$folder/azure_data_cosmos"
  CARGO_TARGET_DIR="$folder/sdktests" cargo rustc --quiet --locked --jobs 2 --config profile.dev.debug=0 \
    --manifest-path "$folder/azure_data_cosmos/Cargo.toml" --test emulator \
    --features key_auth,control_plane,fault_injection,unstable_patch -- --cfg 'test_category="emulator"' -Awarnings
  echo "$package" >"$folder/.sdktests"
fi

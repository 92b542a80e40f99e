#!/bin/sh
# install.sh FOLDER: compiles the suites in FOLDER, with the clients that go.mod names.
set -eu
source_dir=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
folder=$1

go=$(command -v go || command -v /usr/local/go/bin/go) || { echo "skipped: go: the Go tool chain is missing"; exit 77; }
export GOTOOLCHAIN=local GOFLAGS=-mod=readonly
version=$("$go" env GOVERSION)
[ "$(printf '%s\ngo1.25\n' "$version" | sort -V | head -n 1)" = go1.25 ] ||
  { echo "skipped: go: this is $version, and go1.25 is needed"; exit 77; }
stamp=$(cd "$source_dir" && find . -type f | sort | xargs cksum | cksum)
[ "$(cat "$folder/.installed" 2>/dev/null)" != "$stamp" ] || exit 0
cd "$source_dir"
"$go" build -o "$folder/" ./... || exit 1

# The tests of azcosmos are in its module. They have the emulator's address, and name no other server.
azcosmos=$("$go" list -m -f '{{.Dir}}' github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos)
rm -rf "$folder/azcosmos"
cp -r "$azcosmos" "$folder/azcosmos"
chmod -R u+w "$folder/azcosmos"
cd "$folder/azcosmos"
sed -i 's|(t, "https://localhost:8081/")|(t, os.Getenv("OCTAVO_COSMOS_HTTPS_URL")+"/")|' emulator_test.go
grep -q OCTAVO_COSMOS_HTTPS_URL emulator_test.go
"$go" test -c -o "$folder/azcosmos.test" .
# Tests that begin with newEmulatorTests are those for the emulator.
awk '/^func Test/ { name = $2; sub(/\(.*/, "", name) } /newEmulatorTests/ && name { print name; name = "" }' \
  emulator_*_test.go >"$folder/azcosmos.tests"
echo "$stamp" >"$folder/.installed"

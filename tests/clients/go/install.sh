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

# copy_of MODULE FOLDER: copies the sources of a client, so that its own tests can be compiled, and goes there.
copy_of() {
  cd "$source_dir"
  module=$("$go" list -m -f '{{.Dir}}' "$1")
  rm -rf "$2"
  cp -r "$module" "$2"
  chmod -R u+w "$2"
  cd "$2"
}

# The tests of azcosmos have the emulator's address, and name no other server.
copy_of github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos "$folder/azcosmos"
sed -i 's|(t, "https://localhost:8081/")|(t, os.Getenv("OCTAVO_COSMOS_HTTPS_URL")+"/")|' emulator_test.go
grep -q OCTAVO_COSMOS_HTTPS_URL emulator_test.go
"$go" test -c -o "$folder/azcosmos.test" .
# Tests that begin with newEmulatorTests are those for the emulator.
awk '/^func Test/ { name = $2; sub(/\(.*/, "", name) } /newEmulatorTests/ && name { print name; name = "" }' \
  emulator_*_test.go >"$folder/azcosmos.tests"

# Those of kivik start CouchDB in a container, and implement an interface of Go that has grown since.
copy_of github.com/go-kivik/kivik/v4 "$folder/kivik-module"
rm go.work
sed -i 's|startCouchDB(t, image)$|os.Getenv("OCTAVO_KIVIK_DSN")|' kiviktest/test.go
grep -q OCTAVO_KIVIK_DSN kiviktest/test.go
echo 'func (*deps) ModulePath() string { return "" }' >>kiviktest/go123testing.go
"$go" test -c -o "$folder/kivik.test" ./couchdb/test
echo "$stamp" >"$folder/.installed"

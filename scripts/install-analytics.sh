#!/bin/sh
# install-analytics.sh [FOLDER]: puts DuckDB's library, which the analytical store needs, into FOLDER (default: beside the
# program of a build, build/). Fetches the pinned package with npm, which knows its user's registry, or with curl, and
# compares checksums. Does nothing when the right library is there.
set -eu
package=@duckdb/node-bindings-linux-x64
version=1.5.6-r.1
package_sha256=1b9f82478539bb9a1d1df44bd103121a12ae52142c07158dc52b97d2ec1d69ff
library=libduckdb.so
# As in analytics/duckdb/duckdb_api.h.
library_sha256=3f4962cdd266eab2b479a5b5a4a6d063d279b2954ae814ed00385d553b747633

source_dir=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
folder=${1:-"$source_dir/build"}

matches() {
  [ -f "$1" ] && [ "$(sha256sum "$1" | cut -d ' ' -f 1)" = "$2" ]
}

case $(uname -s)-$(uname -m) in
  Linux-x86_64) ;;
  *) echo "$package is for Linux on x86-64. For another machine, set analytics.library and analytics.library_sha256." >&2
     exit 1 ;;
esac
mkdir -p "$folder"
if matches "$folder/$library" "$library_sha256"; then
  echo "$folder/$library is there."
  exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if command -v npm >/dev/null; then
  (cd "$work" && npm pack "$package@$version" --silent --pack-destination . >/dev/null) || fetched=no
elif command -v curl >/dev/null; then
  address=https://registry.npmjs.org/$package/-/${package#*/}-$version.tgz
  curl --silent --show-error --fail --location --retry 3 --output "$work/package.tgz" "$address" || fetched=no
else
  echo "npm and curl are missing: install one of them." >&2
  exit 1
fi
[ "${fetched:-yes}" = yes ] || { echo "$package@$version cannot be fetched from the npm registry." >&2; exit 1; }
archive=$(find "$work" -name '*.tgz')
matches "$archive" "$package_sha256" || { echo "$package@$version has another checksum than expected." >&2; exit 1; }
tar -xzf "$archive" -C "$work" "package/$library" package/LICENSE
matches "$work/package/$library" "$library_sha256" || { echo "$library has another checksum than expected." >&2; exit 1; }
# Renamed in its place, so that no process finds half of it.
cp "$work/package/LICENSE" "$folder/$library.LICENSE"
cp "$work/package/$library" "$folder/$library.new"
mv "$folder/$library.new" "$folder/$library"
echo "Installed DuckDB's library (MIT licence) as $folder/$library."
echo "Start the server with --analytics-enabled --analytics-library=$folder/$library"

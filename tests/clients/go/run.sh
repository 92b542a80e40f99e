#!/bin/sh
# run.sh FOLDER SUITE: runs one suite that install.sh has compiled into FOLDER.
set -eu
export SSL_CERT_FILE="$OCTAVO_CA"
case $2 in
  cosmos_sdktests)
    # shellcheck disable=SC2046 # one argument for each test
    exec "$1/sdktests" "$1/azcosmos.test" $(cat "$1/azcosmos.tests") ;;
  kivik_sdktests) exec "$1/kivik_sdktests" "$1/kivik.test" ;;
  *) exec "$1/$2" ;;
esac

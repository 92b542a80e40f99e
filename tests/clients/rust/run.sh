#!/bin/sh
# run.sh FOLDER SUITE: runs one suite that install.sh has compiled into FOLDER.
set -eu
export SSL_CERT_FILE="$OCTAVO_CA"
case $2 in
  cosmos_sdktests)
    cd "$1/azure_data_cosmos"
    # Its name ends with a digest.
    program=$(find "$1/sdktests/debug/deps" -name 'emulator-*' -type f -perm -u+x)
    exec "$1/debug/octavo-clients" "$2" "$program" ;;
  *) exec "$1/debug/octavo-clients" "$2" ;;
esac

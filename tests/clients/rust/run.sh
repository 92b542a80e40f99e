#!/bin/sh
# run.sh FOLDER SUITE: runs one suite that install.sh has compiled into FOLDER.
set -eu
SSL_CERT_FILE="$OCTAVO_CA" exec "$1/debug/octavo-clients" "$2"

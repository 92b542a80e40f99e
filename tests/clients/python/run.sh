#!/bin/sh
# run.sh FOLDER SUITE: runs one suite with the clients that install.sh has put into FOLDER.
set -eu
source_dir=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
environment=current
case $2 in *_old) environment=old ;; esac
# Clients do not verify the certificate of localhost, and say so with each request.
export PYTHONWARNINGS="ignore:Unverified HTTPS request"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$source_dir"
exec "$1/$environment/bin/python" -m "suites.$2" "$1"

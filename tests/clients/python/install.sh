#!/bin/sh
# install.sh FOLDER: the clients of requirements.txt in the virtual environment FOLDER/current, and those of
# requirements_old.txt, which exclude the newer ones, in FOLDER/old.
set -eu
source_dir=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
folder=$1

python=$(command -v /usr/bin/python3 || command -v python3) || { echo "skipped: python: python3 is missing"; exit 77; }
"$python" -c 'import ensurepip, venv' 2>/dev/null || { echo "skipped: python: python3-venv is missing"; exit 77; }

install() {  # install ENVIRONMENT REQUIREMENTS
  stamp=$(cksum <"$2")
  [ "$(cat "$1/.installed" 2>/dev/null)" != "$stamp" ] || return 0
  rm -rf "$1"
  "$python" -m venv "$1"
  "$1/bin/pip" install --quiet --disable-pip-version-check --require-hashes --requirement "$2"
  echo "$stamp" >"$1/.installed"
}
install "$folder/current" "$source_dir/requirements.txt"
install "$folder/old" "$source_dir/requirements_old.txt"

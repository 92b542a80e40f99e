#!/bin/sh
# install.sh FOLDER: the clients of requirements.txt in the virtual environment FOLDER/current, and those of
# requirements_old.txt, which exclude the newer ones, in FOLDER/old. FOLDER/sdktests has the tests of azure-cosmos.
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

# The tests of azure-cosmos are in its source distribution. They have the emulator's address, and name no other server.
tests=$folder/sdktests
requirement=$(grep -A 2 '^azure-cosmos==' "$source_dir/requirements.txt")
if [ "$(cat "$tests/.installed" 2>/dev/null)" != "$requirement" ]; then
  rm -rf "$tests" "$folder/source"
  mkdir -p "$tests" "$folder/source"
  echo "$requirement" >"$folder/source/requirements.txt"
  "$folder/current/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary azure-cosmos \
    --require-hashes --requirement "$folder/source/requirements.txt" --dest "$folder/source"
  tar -xzf "$folder"/source/azure_cosmos-*.tar.gz -C "$tests" --strip-components=2 --wildcards '*/tests/*'
  # A split takes a moment, not minutes.
  sed -i -e "s|local_host = 'https://localhost:8081/'|local_host = os.environ['ACCOUNT_HOST']|" \
    -e 's|^SLEEP_TIME = 30|SLEEP_TIME = 1|' "$tests/test_config.py"
  grep -q "local_host = os.environ" "$tests/test_config.py"
  grep -q "^SLEEP_TIME = 1 " "$tests/test_config.py"
  rm -r "$folder/source"
  echo "$requirement" >"$tests/.installed"
fi

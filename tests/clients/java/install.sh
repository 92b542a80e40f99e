#!/usr/bin/env bash
# install.sh FOLDER: brings the jars of the clients from Maven Central into FOLDER, and compiles the programs, if need be.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${1:?usage: install.sh FOLDER}"
folder=$(cd "$1" && pwd)

for tool in javac mvn; do
  command -v $tool >/dev/null || { echo "skipped: java: $tool is missing"; exit 77; }
done

# set_of NAME SOURCES…: the jars of NAME.pom.xml, and the programs that use them.
set_of() {
  local name=$1 jars=$folder/$1-jars classes=$folder/$1-classes
  shift
  if ! cmp --silent "$here/$name.pom.xml" "$jars/pom.xml"; then
    rm -rf "$jars"
    mvn --quiet --batch-mode -Dstyle.color=never --file "$here/$name.pom.xml" -Dmaven.repo.local="$folder/repository" \
      org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory="$jars"
    cp "$here/$name.pom.xml" "$jars/pom.xml"
  fi
  local sources=()
  for source in "$@"; do sources+=("$here/$source"/*.java); done
  if [[ -z $(find "$classes/done" -newer "$jars/pom.xml" 2>/dev/null) ||
        -n $(find "${sources[@]}" -newer "$classes/done") ]]; then
    rm -rf "$classes"
    javac -parameters -Xlint:all,-processing,-classfile,-try,-serial -proc:none -cp "$jars/*" -d "$classes" "${sources[@]}"
    touch "$classes/done"
  fi
}

set_of cosmos support cosmos spring
set_of cosmos_encryption support encryption
set_of couch support couch

#!/usr/bin/env bash
# Makes the root folder of the container image: the program, the libraries that it loads, their licences, /etc/passwd, and
# /data. The Dockerfile calls it in its build stage; it needs only what every Debian has. As root, because /data belongs to
# the user of the image.
#
#   scripts/image-root.sh PROGRAM FOLDER
set -euo pipefail

program=${1:?which program?}
folder=${2:?into which folder?}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
user=5984

# With a merged /usr, the loader and ldd name a library without /usr, and dpkg may know it under either name.
below_usr() { echo "/usr${1#/usr}"; }

mkdir -p "$folder/usr/lib" "$folder/usr/share/doc"
ln -s usr/lib "$folder/lib"
install -D --mode 0755 "$program" "$folder/usr/bin/octavo"

mapfile -t libraries < <(ldd "$program" |
  sed -nE -e 's/^.*not found.*$/&/p' -e 's/^.* => (\/[^ ]+) .*$/\1/p' -e 's/^[[:space:]]+(\/[^ ]+) \(.*$/\1/p')
((${#libraries[@]} > 0)) || { echo "image-root.sh: ldd finds no libraries of $program" >&2; exit 1; }
# Part of glibc, which the program no longer needs by name; DuckDB's library, which it loads for analytical stores, does.
for library in "${libraries[@]}"; do
  [[ $library != */libc.so.6 ]] || libraries+=("${library%/*}/libdl.so.2")
done
packages=()
for library in "${libraries[@]}"; do
  [[ $library == /* ]] || { echo "image-root.sh: a library is missing here: $library" >&2; exit 1; }
  install -D --mode 0755 "$(realpath "$library")" "$folder$(below_usr "$library")"
  [[ $library != /lib64/* || -e $folder/lib64 ]] || ln -s usr/lib64 "$folder/lib64"
  file=$(realpath "$library")
  owner=$(dpkg -S "$(below_usr "$file")" 2>/dev/null || dpkg -S "${file#/usr}" 2>/dev/null) ||
    { echo "image-root.sh: no package owns $file" >&2; exit 1; }
  packages+=("${owner%%:*}")
done

# Packages of one source have the same text: it is stored once.
declare -A licences=()
while read -r package; do
  text=/usr/share/doc/$package/copyright
  [[ -e $text ]] || { echo "image-root.sh: $package has no copyright file" >&2; exit 1; }
  mkdir -p "$folder/usr/share/doc/$package"
  sum=$(sha256sum <"$text")
  if [[ -n ${licences[$sum]:-} ]]; then
    ln -s "../${licences[$sum]}/copyright" "$folder$text"
  else
    install --mode 0644 "$text" "$folder$text"
    licences[$sum]=$package
  fi
done < <(printf '%s\n' "${packages[@]}" | sort -u)
cp -R /usr/share/common-licenses "$folder/usr/share/"  # to which these texts refer
install -D --mode 0644 "$here/../LICENSE" "$folder/usr/share/doc/octavo/LICENSE"

install -d --mode 0755 "$folder/etc"
printf '%s\n' 'root:x:0:0:root:/:/usr/sbin/nologin' "octavo:x:$user:0:Octavo:/data:/usr/sbin/nologin" >"$folder/etc/passwd"
echo 'root:x:0:' >"$folder/etc/group"
# Group 0 may write: OpenShift starts a container as a random user of this group, and a new volume gets this mode.
install -d --owner $user --group 0 --mode 0770 "$folder/data"

#!/usr/bin/env bash
# Builds the container image from the unmodified Dockerfile, without Docker and without a registry, and checks what runs:
# start, both APIs, users, volumes, signals, health, limits of memory and processors, and its size. As root on Debian 12;
# installs what it needs (buildah, podman, runc). The build takes 20 minutes on two cores, a repeated one less.
#
#   scripts/image-test.sh                 builds the images `octavo` and `octavo:analytics` and checks them
#   scripts/image-test.sh build [TARGET]  only builds: the image `octavo`, or `octavo:TARGET` (debug, analytics)
#   scripts/image-test.sh check IMAGE     only checks an image that is there
#   scripts/image-test.sh podman …        podman with these images, such as: podman run --rm octavo version
#
# Everything is in $OCTAVO_IMAGE_WORK (default /var/tmp/octavo-image). The base image debian:12-slim is made from Debian's
# packages, by the rules of the official one. $APT_EXTRA names one more apt configuration file for the build, where this
# machine's apt needs one, $CA_EXTRA a file of certificates that this machine's registry of npm needs. $JOBS is the number of
# compilers.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=${OCTAVO_IMAGE_WORK:-/var/tmp/octavo-image}
base=docker.io/library/debian:12-slim
size_max=42000000  # bytes, compressed by gzip as registries do
analytics_size_max=66000000  # of octavo:analytics
((EUID == 0)) || { echo "image-test.sh: run this as root" >&2; exit 2; }
mkdir -p "$work"

# Without systemd, podman reports that it has no timers for health checks, which are run by hand here.
podman() { command podman "$@" 2> >(grep -v 'unable to get systemd connection' >&2); }

need() {
  local missing=()
  for package in "$@"; do
    [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      missing+=("$package")
  done
  ((${#missing[@]} == 0)) || { apt-get update -q && apt-get install -yq --no-install-recommends "${missing[@]}"; } >&2
}

# --- Building -------------------------------------------------------------------------------------------------------

# A store and a runtime of their own, so that nothing of the machine's is touched.
write_configuration() {
  local driver=vfs
  grep -qw overlay /proc/filesystems && driver=overlay
  printf '[storage]\ndriver = "%s"\ngraphroot = "%s/store"\nrunroot = "%s/run"\n' "$driver" "$work" "$work" \
    >"$work/storage.conf"
  # A root that lacks CAP_SYS_RESOURCE cannot set a container's resource limits: the runtime gets none.
  cat >"$work/runtime.new" <<'R'
#!/bin/bash
bundle=.; process=; previous=
for word in "$@"; do
  case $previous in --bundle | -b) bundle=$word ;; --process | -p) process=$word ;; esac
  previous=$word
done
for file in "$bundle/config.json" "$process"; do
  [[ -n $file && -w $file ]] && jq -c 'del(.process.rlimits, .rlimits)' "$file" >"$file.new" && cat "$file.new" >"$file"
done
exec /usr/sbin/runc "$@"
R
  chmod +x "$work/runtime.new"
  mv "$work/runtime.new" "$work/runtime"
  printf '%s\n' '[containers]' 'log_driver = "k8s-file"' '[engine]' 'cgroup_manager = "cgroupfs"' \
    'events_logger = "file"' "runtime = \"$work/runtime\"" '[network]' 'network_backend = "netavark"' \
    >"$work/containers.conf"
}

make_base() {
  need mmdebstrap
  local options=() rule
  # What the official slim image leaves out, now and for packages installed later.
  for rule in exclude=/usr/share/doc/\* include=/usr/share/doc/\*/copyright exclude=/usr/share/{groff,info,linda,man}/\* \
    exclude=/usr/share/lintian/overrides/\* exclude=/usr/share/locale/\* include=/usr/share/locale/locale.alias; do
    options+=("--dpkgopt=path-$rule")
  done
  if [[ -n ${APT_EXTRA:-} ]]; then
    while read -r rule; do options+=("--aptopt=$rule"); done < <(sed 's/;[[:space:]]*$//' "$APT_EXTRA")
  fi
  # Downloaded packages do not stay in a layer, as in the official image.
  # shellcheck disable=SC2016  # $1 is the hook's own
  [[ -e $work/base.tar ]] ||
    { cat /etc/apt/sources.list /etc/apt/sources.list.d/debian*.{list,sources} 2>/dev/null || true; } |
    mmdebstrap --variant=minbase --include=usr-is-merged --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr "${options[@]}" \
      --customize-hook='printf "%s\n" \
        "DPkg::Post-Invoke { \"rm -f /var/cache/apt/archives/*.deb /var/cache/apt/*.bin || true\"; };" \
        "Dir::Cache::pkgcache \"\";" "Dir::Cache::srcpkgcache \"\";" "Acquire::Languages \"none\";" \
        "Acquire::GzipIndexes \"true\";" >"$1/etc/apt/apt.conf.d/docker-clean"' \
      --customize-hook='rm -rf "$1"/etc/apt/sources.list* "$1"/etc/apt/apt.conf.d/99mmdebstrap \
        "$1"/var/cache/apt/*.bin "$1"/etc/resolv.conf "$1"/etc/hostname; mkdir "$1/etc/apt/sources.list.d"' \
      bookworm "$work/new.tar" - >&2
  [[ -e $work/base.tar ]] || mv "$work/new.tar" "$work/base.tar"
  local container
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$work/base.tar" / >/dev/null
  buildah config --cmd bash "$container"
  buildah commit --quiet --rm --format docker "$container" "$base" >/dev/null
}

build() {  # build [TARGET]
  need buildah netavark
  buildah images --quiet "$base" >/dev/null 2>&1 || make_base
  local options=() source
  for source in /etc/apt/sources.list.d/debian*.{list,sources} /etc/apt/sources.list; do
    [[ ! -e $source ]] || options+=(--volume "$source:$source:ro")
  done
  [[ -z ${APT_EXTRA:-} ]] || options+=(--volume "$APT_EXTRA:/etc/apt/apt.conf.d/99extra:ro")
  [[ -z ${CA_EXTRA:-} ]] || options+=(--volume "$CA_EXTRA:/usr/local/share/ca-certificates/extra.crt:ro")
  [[ -z ${1:-} ]] || options+=(--target "$1")
  [[ -z ${JOBS:-} ]] || options+=(--build-arg "JOBS=$JOBS")
  mkdir -p "$work/tmp"  # also for what is kept between builds, such as the cache of the compiler
  TMPDIR=$work/tmp nice buildah bud --isolation chroot --network host --layers --pull=never --format docker "${options[@]}" \
    --tag "octavo${1:+:$1}" --file "$root/Dockerfile" "$root"
}

# --- Checking -------------------------------------------------------------------------------------------------------

image=octavo
name=octavo-image-test
url=
cosmos_url=
checks=0
failures=0

ok() {  # ok WHAT COMMAND…: the command succeeds
  local what=$1
  shift
  checks=$((checks + 1))
  if "$@"; then
    echo "ok    $what"
  else
    echo "FAIL  $what" >&2
    failures=$((failures + 1))
  fi
}

remove() {
  podman rm --force --ignore --time 2 "$name" >/dev/null 2>&1 || true
  podman volume rm --force "$name" >/dev/null 2>&1 || true
}

# start OPTION… [-- ARGUMENT…]: a container on the volume $name, as compose.yaml has it. Sets url and cosmos_url.
start() {
  local options=() port=5984
  while (($# > 0)) && [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  (($# == 0)) || shift
  [[ $* != *6984* ]] || port=6984
  podman rm --force --ignore --time 2 "$name" >/dev/null 2>&1 || true
  podman run --detach --name "$name" --volume "$name:/data" --publish 127.0.0.1::$port --publish 127.0.0.1::8081 \
    --env COUCHDB_USER=admin --env COUCHDB_PASSWORD=secret --env OCTAVO_COSMOS_KEY=emulator \
    "${options[@]}" "$image" "$@" >/dev/null || return 1
  url=http://admin:secret@$(podman port "$name" $port/tcp)
  cosmos_url=http://$(podman port "$name" 8081/tcp)
  ready
}

answers() { curl --silent --fail --max-time 5 --output /dev/null "$url/_up"; }
ready() {
  local attempt
  for attempt in {1..100}; do
    ! answers || return 0
    [[ $(podman inspect --format '{{.State.Running}}' "$name") == true ]] || return 1
    sleep 0.1
  done
  return 1
}
logs() { podman logs "$name" 2>&1; }
exit_code() { podman inspect --format '{{.State.ExitCode}}' "$name"; }
request() { curl --silent --show-error --fail --max-time 120 --header 'Content-Type: application/json' "$@"; }
replies() { request "$url$1" | grep -q "$2"; }  # replies PATH PATTERN

write_and_read() {
  local view='{"map":"function (doc) { emit(doc.price, null); }"}'
  local search='{"index":"function (doc) { index(\"price\", doc.price); }"}'
  request --output /dev/null --request PUT "$url/shop" &&
    request --output /dev/null --request PUT "$url/shop/p1" --data '{"price":3}' &&
    request --output /dev/null --request PUT "$url/shop/_design/d" --data \
      "{\"views\":{\"v\":$view},\"indexes\":{\"s\":$search}}" &&
    replies /shop/_design/d/_view/v '"key":3' && replies '/shop/_design/d/_search/s?q=price:3' '"total_rows":1'
}

# The authorisation of the Azure Cosmos DB API for GET / with the emulator's published key.
cosmos_answers() {
  local key=C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw== date hex signature
  date=$(LC_ALL=C date --utc '+%a, %d %b %Y %H:%M:%S GMT')
  hex=$(base64 --decode <<<"$key" | od -An -v -tx1 | tr -d ' \n')
  signature=$(printf 'get\ndbs\n\n%s\n\n' "${date,,}" |
    openssl dgst -sha256 -mac HMAC -macopt "hexkey:$hex" -binary | base64 --wrap 0)
  curl --silent --fail --max-time 10 --header "x-ms-date: $date" --header 'x-ms-version: 2018-12-31' \
    --header "authorization: $(printf 'type=master&ver=1.0&sig=%s' "$signature" | jq -sRr @uri)" "$cosmos_url/dbs" |
    grep -q '"Databases"'
}

# With DuckDB's library: a store with its state and a query, with a read-only root.
analyses() {
  request --output /dev/null --request PUT "$url/orders" &&
    request --output /dev/null "$url/orders/_bulk_docs" --data \
      '{"docs":[{"city":"Bern","total":10},{"city":"Bern","total":20.5},{"city":"Genf","total":30}]}' &&
    request --output /dev/null --request PUT "$url/orders/_analytics" --data '{}' &&
    replies '/orders/_analytics?wait_for=now' '"rows":3' && sums_totals
}
sums_totals() {
  request "$url/_analytics/sql" --data \
    '{"db":"orders","sql":"select city, sum(total) total from documents group by city order by city"}' |
    jq --compact-output .rows | grep -qxF '[{"city":"Bern","total":30.5},{"city":"Genf","total":30}]'
}
still_analyses() { replies '/orders/_analytics?wait_for=now' '"rows":3' && sums_totals; }

# start_again: the same container, whose port may be another one.
start_again() {
  podman start "$name" >/dev/null || return 1
  url=http://admin:secret@$(podman port "$name" 5984/tcp)
  ready
}
kill_now() { podman kill --signal KILL "$name" >/dev/null && podman wait "$name" >/dev/null; }
healthy() { podman healthcheck run "$name" >/dev/null; }
volume_is_sound() { podman run --rm --volume "$name:/data" "$image" check >/dev/null; }
stops_cleanly() {
  local begun=$SECONDS
  podman stop --time 30 "$name" >/dev/null
  ((SECONDS - begun <= 10)) && [[ $(exit_code) == 0 ]]
}
# Ends with 0 within 10 seconds, although a client follows the changes, another waits for one, and a view runs without end.
stops_while_busy() {
  local feed poll
  request --output /dev/null "$url/shop/_design/spin" --request PUT --data \
    '{"views":{"v":{"map":"function (doc) { for (;;) {} }"}}}' || return 1
  curl --silent --no-buffer --output /dev/null "$url/shop/_changes?feed=continuous&since=now&heartbeat=1000" &
  feed=$!
  curl --silent --output /dev/null "$url/shop/_changes?feed=longpoll&since=now" &
  poll=$!
  curl --silent --output /dev/null --max-time 60 "$url/shop/_design/spin/_view/v" &
  sleep 2
  stops_cleanly || return 1
  wait "$feed" "$poll" || true
}
ends_by_interrupt() {
  podman kill --signal INT "$name" >/dev/null && [[ $(timeout 10 podman wait "$name") == 0 ]]
}
reloads() {
  podman kill --signal HUP "$name" >/dev/null
  local attempt
  for attempt in {1..50}; do
    ! grep -q 'SIGHUP: ' <(logs) || break
    sleep 0.1
  done
  grep -q 'SIGHUP: ' <(logs) && answers
}
# Another container on the volume of the running one.
second_is_refused() {
  local output
  ! output=$(podman run --rm --volume "$name:/data" --env COUCHDB_USER=admin --env COUCHDB_PASSWORD=secret "$image" 2>&1) &&
    grep -q 'is in use by another octavo process' <<<"$output" && answers
}
log_is_json() { logs | jq -es 'length > 1 and all(type == "object")' >/dev/null; }
not_started() { [[ $(podman wait "$name") == 1 ]]; }
explains_permissions() {
  local who='This process has uid 5984 and gid 0; /data belongs to 0:0 and has mode 0755\.'
  logs | grep -q "Permission denied\. $who Type as root: chown -R 5984:0 /data"
}
io_threads() { logs | grep -q "may use $1 of [0-9]* processors.* io_threads=$1 worker_threads=$1\$"; }
thread_names_are() {  # what the kernel counts, not what the log says
  local pid
  pid=$(podman inspect --format '{{.State.Pid}}' "$name")
  [[ $(grep -l '^io-' "/proc/$pid/task/"*/comm | wc -l) == "$1" ]]
}
has_no_shell() { ! podman run --rm --entrypoint /bin/sh "$image" -c true >/dev/null 2>&1; }

# More than the memory of the container in documents, a view over them, and all of them in one reply.
work_hard() {
  local batch
  request --output /dev/null --request PUT "$url/large" || return 1
  for batch in {1..25}; do
    jq -cn --argjson batch "$batch" \
      '{docs: [range(1000) | {_id: "\($batch)-\(.)", number: ., text: ("x" * 600)}]}' |
      request --output /dev/null "$url/large/_bulk_docs" --data @- || return 1
  done
  request --output /dev/null --request PUT "$url/large/_design/d" --data \
    '{"views":{"v":{"map":"function (doc) { emit(doc.number, doc.text); }","reduce":"_count"}}}' &&
    replies /large/_design/d/_view/v '"value":25000' &&
    [[ $(request "$url/large/_all_docs?include_docs=true" | wc -l) -gt 25000 ]] &&
    [[ $(podman inspect --format '{{.State.OOMKilled}} {{.State.Running}}' "$name") == "false true" ]]
}

compressed_bytes() {
  rm -rf "$work/saved"
  buildah push --quiet --disable-compression "$image" "dir:$work/saved" >/dev/null
  jq -r '.layers[].digest' "$work/saved/manifest.json" | while read -r digest; do
    gzip -6 <"$work/saved/${digest#sha256:}" | wc -c
  done | awk '{ sum += $1 } END { print sum }'
}
is_small() {  # is_small BYTES
  local bytes
  bytes=$(compressed_bytes)
  echo "      $bytes bytes compressed"
  ((bytes > 0 && bytes <= $1))
}

check() {
  local bind=$work/root-owned

  remove
  ok "starts, with a read-only root and without capabilities" \
    start --read-only --cap-drop ALL --security-opt no-new-privileges
  ok "answers as CouchDB: a document, a view, a search" write_and_read
  ok "answers as Azure Cosmos DB with the emulator's key" cosmos_answers
  ok "is healthy" healthy
  ok "a second container on its volume is refused, and says why" second_is_refused
  ok "SIGHUP reads the configuration again" reloads
  ok "SIGTERM ends it with 0 within 10 seconds" stops_cleanly
  ok "starts again" start_again
  ok "has its data" replies /shop/p1 '"price":3'
  ok "can be killed" kill_now
  ok "starts after kill -9" start_again
  ok "has its data after kill -9" replies /shop/p1 '"price":3'
  ok "SIGINT ends it with 0" ends_by_interrupt
  ok "starts after SIGINT" start_again
  ok "stops within 10 seconds, with feeds open and a view that does not end" stops_while_busy
  ok "its volume is sound" volume_is_sound

  remove
  ok "is healthy on another port" start -- serve --port 6984
  ok "the health check asks that port" healthy

  remove
  ok "is healthy where every request needs a password" start --env OCTAVO_REQUIRE_VALID_USER=true
  ok "the health check needs none" healthy

  remove
  ok "starts with a log in JSON" start --env OCTAVO_LOG_FORMAT=json
  ok "has only JSON in its log" log_is_json

  remove
  ok "a random user of group 0 may use a new volume" start --user 123456:0
  ok "and write to it" write_and_read

  remove
  rm -rf "$bind"
  install -d --owner 0 --group 0 --mode 0755 "$bind"
  podman run --detach --name "$name" --volume "$bind:/data" --env COUCHDB_USER=admin --env COUCHDB_PASSWORD=secret \
    "$image" >/dev/null
  ok "does not start on a folder of root" not_started
  ok "and says whose it is and what to type" explains_permissions
  podman rm --force "$name" >/dev/null
  chown 5984:0 "$bind"
  podman run --detach --name "$name" --volume "$bind:/data" --env COUCHDB_USER=admin --env COUCHDB_PASSWORD=secret \
    --publish 127.0.0.1::5984 "$image" >/dev/null
  url=http://admin:secret@$(podman port "$name" 5984/tcp)
  ok "starts when that was done" ready

  remove
  ok "starts with one processor" start --cpus 1
  ok "has threads for one processor" io_threads 1
  ok "which the kernel confirms" thread_names_are 1

  remove
  ok "starts on one processor of the machine" start --cpuset-cpus 0
  ok "has threads for that one" io_threads 1

  remove
  ok "starts with 128 MiB of memory" start --memory 128m --memory-swap 128m
  ok "fits its settings to that" grep -q '128 MiB of memory are too few' <(logs)
  ok "and survives documents, a view and a large reply" work_hard

  remove
  ok "needs a password" test "$(podman run --rm "$image" 2>/dev/null >&2; echo $?)" = 2
  ok "has no shell" has_no_shell
  ok "has at most $size_max bytes, compressed" is_small $size_max
}

check_analytics() {
  remove
  ok "starts with analytical stores, with a read-only root and without capabilities" \
    start --read-only --cap-drop ALL --security-opt no-new-privileges
  ok "makes an analytical store and answers a query" analyses
  ok "stops with it" stops_cleanly
  ok "starts again with it" start_again
  ok "has the table and answers" still_analyses
  ok "can be killed with it" kill_now
  ok "starts with it after kill -9" start_again
  ok "has the table after kill -9" still_analyses
  ok "has no shell" has_no_shell
  ok "has at most $analytics_size_max bytes, compressed" is_small $analytics_size_max
}

# The image without the library, to which the folder $1 with a library is mounted.
check_mounted_library() {
  remove
  ok "starts with a library that is mounted" start --read-only --volume "$1:/duckdb:ro" \
    --env OCTAVO_ANALYTICS_ENABLED=true --env OCTAVO_ANALYTICS_LIBRARY=/duckdb/libduckdb.so
  ok "makes an analytical store with it" analyses
}

# check_image IMAGE: the checks for it, and for octavo:analytics those of what it adds.
check_image() {
  need buildah podman runc netavark iptables jq curl openssl
  trap remove EXIT
  image=$1
  if [[ $image == *:analytics ]]; then
    check_analytics
  else
    check
    "$root/scripts/install-analytics.sh" "$work/duckdb" >/dev/null
    check_mounted_library "$work/duckdb"
  fi
}

report() {
  echo "$checks checks, $failures failed"
  ((failures == 0))
}

command=${1:-all}
(($# == 0)) || shift
write_configuration
export CONTAINERS_STORAGE_CONF=$work/storage.conf CONTAINERS_CONF=$work/containers.conf
case $command in
  all)
    build
    build analytics
    check_image octavo
    check_image octavo:analytics
    report
    ;;
  build) build "$@" ;;
  check)
    check_image "${1:?which image?}"
    report
    ;;
  podman)
    need podman runc netavark iptables jq
    podman "$@"
    ;;
  *)
    sed -n '2,14s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac

#!/usr/bin/env bash
# run.sh FOLDER SUITE: runs one suite with what install.sh has put into FOLDER.
set -euo pipefail
folder=$(cd "${1:?usage: run.sh FOLDER SUITE}" && pwd)
suite=${2:?usage: run.sh FOLDER SUITE}

case $suite in
  cosmos) set=cosmos main=cosmos.ItemSuite ;;
  cosmos_queries) set=cosmos main=cosmos.QuerySuite ;;
  cosmos_feeds) set=cosmos main=cosmos.FeedSuite ;;
  cosmos_resources) set=cosmos main=cosmos.ResourceSuite ;;
  cosmos_encryption) set=cosmos_encryption main=encryption.EncryptionSuite ;;
  cosmos_spring) set=cosmos main=spring.SpringSuite ;;
  couch_cloudant) set=couch main=couch.CloudantSuite ;;
  couch_ektorp) set=couch main=couch.EktorpSuite ;;
  *) echo "unknown suite: $suite" >&2; exit 2 ;;
esac

# The emulator's documentation imports the certificate into a trust store, too.
store=$(mktemp --tmpdir octavo-trust-XXXXXX)
trap 'rm -f "$store"' EXIT
rm "$store"
keytool -importcert -noprompt -alias octavo -file "$OCTAVO_CA" -keystore "$store" -storepass octavo 2>/dev/null

java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx512m -cp "$folder/$set-classes:$folder/$set-jars/*" \
  -Djavax.net.ssl.trustStore="$store" -Djavax.net.ssl.trustStorePassword=octavo \
  -DCOSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED=true \
  -Dorg.slf4j.simpleLogger.defaultLogLevel="${OCTAVO_LOG:-off}" "$main"

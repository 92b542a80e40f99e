# Octavo in a small image: docker build -t octavo .
# How to run it is in compose.yaml. tests/integration/dockerfile_steps.sh checks what can be checked without building it, and
# scripts/image-test.sh builds it and runs it.
#
# A compiler needs up to 1.4 GB of memory; where there is less than that for each processor:
#   docker build --build-arg JOBS=2 -t octavo .
# With a shell and Debian's package manager beside the server:
#   docker build --target debug -t octavo:debug .
# With DuckDB's library, for analytical stores (docs/analytics.md):
#   docker build --target analytics -t octavo:analytics .

FROM debian:12-slim AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      g++ cmake ninja-build ccache mold pkg-config \
      libboost1.81-dev libboost-json1.81-dev libboost-url1.81-dev \
      libsimdjson-dev liblmdb-dev libspdlog-dev libfmt-dev libtomlplusplus-dev libcli11-dev \
      libssl-dev libicu-dev libpcre2-dev zlib1g-dev libzstd-dev prometheus-cpp-dev libmozjs-102-dev \
      liblucene++-dev libstemmer-dev \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY CMakeLists.txt ./
COPY cmake/ cmake/
COPY base/ base/
COPY config/ config/
COPY storage/ storage/
COPY partitioning/ partitioning/
COPY query/ query/
COPY analytics/ analytics/
COPY api/ api/
COPY server/ server/
COPY LICENSE ./
COPY scripts/image-root.sh scripts/
ARG JOBS
# What an earlier build compiled is kept beside the image, so that a small change compiles little.
RUN --mount=type=cache,target=/var/cache/ccache \
    export CCACHE_DIR=/var/cache/ccache \
 && cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release \
      -DOCTAVO_TESTS=OFF -DOCTAVO_BENCHMARKS=OFF \
 && cmake --build build --target octavo ${JOBS:+--parallel "$JOBS"} \
 && cmake --install build --strip --prefix /installed \
 && scripts/image-root.sh /installed/bin/octavo /image

# DuckDB's library, which is fetched and not built, by the script that knows its checksum. Beside it only its licence leaves
# this stage.
FROM debian:12-slim AS duckdb
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates curl \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY scripts/install-analytics.sh scripts/
RUN scripts/install-analytics.sh /fetched \
 && install -D --mode 0755 /fetched/libduckdb.so /image/usr/lib/octavo/libduckdb.so \
 && install -D --mode 0644 /fetched/libduckdb.so.LICENSE /image/usr/share/doc/duckdb/copyright

# What the images have in common. It has no files of its own: the server needs neither a shell nor a package manager, and
# what is not there cannot be attacked.
FROM scratch AS settings
LABEL org.opencontainers.image.title="Octavo" \
      org.opencontainers.image.description="HTTP document database with the APIs of CouchDB and Azure Cosmos DB" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0"
# The container's own interface: other containers and published ports get through, so the server refuses to start without
# COUCHDB_USER and COUCHDB_PASSWORD (or OCTAVO_ADMIN_USER and OCTAVO_ADMIN_PASSWORD, each also as …_FILE).
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    OCTAVO_BIND=0.0.0.0 \
    OCTAVO_DATA_DIR=/data
# As numbers, which Kubernetes needs for `runAsNonRoot`. /data belongs to this user and may be written by group 0.
USER 5984:0
EXPOSE 5984 8081
HEALTHCHECK --interval=10s --timeout=6s --start-period=10s CMD ["/usr/bin/octavo", "health"]
ENTRYPOINT ["/usr/bin/octavo"]
CMD ["serve"]

FROM settings AS debug
COPY --from=debian:12-slim / /
COPY --from=build /image/ /
VOLUME /data

FROM settings AS analytics
LABEL org.opencontainers.image.licenses="Apache-2.0 AND MIT"
ENV OCTAVO_ANALYTICS_ENABLED=true \
    OCTAVO_ANALYTICS_LIBRARY=/usr/lib/octavo/libduckdb.so
COPY --from=build /image/ /
COPY --from=duckdb /image/ /
VOLUME /data

FROM settings
COPY --from=build /image/ /
VOLUME /data

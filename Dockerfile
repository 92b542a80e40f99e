# syntax=docker/dockerfile:1
# Octavo in a small image: docker build -t octavo .
# How to run it is in compose.yaml. tests/integration/dockerfile_steps.sh checks the package lists below.

FROM debian:12-slim AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      g++ cmake ninja-build mold pkg-config \
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
COPY api/ api/
COPY server/ server/
RUN cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release \
      -DOCTAVO_TESTS=OFF -DOCTAVO_BENCHMARKS=OFF \
 && cmake --build build --target octavo \
 && cmake --install build --strip --prefix /installed

FROM debian:12-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
      libboost-json1.81.0 libboost-url1.81.0 \
      libsimdjson14 liblmdb0 libspdlog1.10 libfmt9 libtomlplusplus3 \
      libssl3 libicu72 libpcre2-8-0 zlib1g libzstd1 libprometheus-cpp-core1.0 libmozjs-102-0 \
      liblucene++0v5 libboost-regex1.74.0 libstemmer0d \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 5984 --no-create-home --home-dir /data --shell /usr/sbin/nologin octavo \
 && install --directory --owner octavo --group octavo --mode 0700 /data
COPY LICENSE /usr/share/doc/octavo/LICENSE
COPY --from=build /installed/bin/octavo /usr/bin/octavo

# The container's own interface: other containers and published ports get through, so the server refuses to start without
# COUCHDB_USER and COUCHDB_PASSWORD (or OCTAVO_ADMIN_USER and OCTAVO_ADMIN_PASSWORD, each password also as …_FILE).
ENV OCTAVO_BIND=0.0.0.0 \
    OCTAVO_DATA_DIR=/data
USER octavo
VOLUME /data
EXPOSE 5984 8081
HEALTHCHECK --interval=10s --timeout=6s --start-period=10s CMD ["/usr/bin/octavo", "health"]
ENTRYPOINT ["/usr/bin/octavo"]
CMD ["serve"]

#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/data_set.h"
#include "bench/lmdb_limit.h"
#include "bench/report.h"
#include "bench/server_process.h"

namespace octavo::bench {

struct Options {
  std::filesystem::path binary;
  std::filesystem::path folder;  ///< holds the data folder and the limits' scratch files
  std::uint64_t documents = 100'000;
  std::chrono::milliseconds duration{3000};
  unsigned rounds = 2;  ///< result and limit take turns this often; the best of each counts
  unsigned q = 1;
  unsigned threads = 0;  ///< of the bare server; as many as the server has I/O threads
  unsigned idle_followers = 10'000;
  std::vector<std::string> server_arguments;
};

/// What the cases share: the server that runs, the data in it, and where results go.
struct Run {
  Options options;
  DataSet data;
  std::unique_ptr<ServerProcess> server;
  Report report;
  std::unique_ptr<LmdbWriteLimit> write_limit;  ///< made by the first case that writes
};

/// A named group of measurements, in the order in which they must run: writes come before the indexes they would feed.
struct Case {
  std::string name;
  std::string help;
  std::function<void(Run&)> measure;
};

const std::vector<Case>& all_cases();

/// Starts the server on the run's folder, and fills the database unless an earlier run left it there.
void prepare(Run& run);

}  // namespace octavo::bench

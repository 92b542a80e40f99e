// octavo_bench: measures a real server on a folder of its own, each figure beside its limit measured in the same run.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/cases/cases.h"

namespace {

using namespace octavo::bench;

struct Arguments {
  Options options;
  double seconds = 3;
  std::vector<std::string> only;
  std::string json_path;
  bool keep = false;
};

int run_cases(const Arguments& arguments) {
  Run run{.options = arguments.options, .data = {}, .server = nullptr, .report = {}, .write_limit = {}};
  prepare(run);
  int failures = 0;
  for (const auto& one : all_cases()) {
    if (!arguments.only.empty() && std::ranges::find(arguments.only, one.name) == arguments.only.end()) continue;
    try {
      one.measure(run);
      fmt::print(stderr, "  after {}: {:.1f} MiB outside the page cache\n", one.name,
                 static_cast<double>(run.server->anonymous_bytes()) / (1024.0 * 1024.0));
    } catch (const std::exception& error) {
      // One broken case must not take the others' results with it.
      fmt::print(stderr, "{}: {}\n", one.name, error.what());
      ++failures;
    }
  }
  fmt::print("{}", run.report.markdown());
  if (!arguments.json_path.empty()) {
    const auto text = run.report.json({{"documents", fmt::to_string(run.data.count)},
                                       {"seconds", fmt::to_string(arguments.seconds)},
                                       {"q", fmt::to_string(run.options.q)},
                                       {"processors", fmt::to_string(std::thread::hardware_concurrency())}});
    if (arguments.json_path == "-") {
      fmt::print("{}", text);
    } else {
      std::ofstream(arguments.json_path) << text;
    }
  }
  const bool clean = run.server->stop();
  if (!clean) fmt::print(stderr, "the server did not stop cleanly\n");
  return failures == 0 && clean ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  auto& options = arguments.options;
  // Both programs are in the same build folder; its path is not compiled in, so that the compiler cache serves others.
  options.binary = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "../../octavo";
  options.threads = std::max(1u, std::thread::hardware_concurrency());

  CLI::App app("Measures Octavo beside a bare Beast server and bare LMDB.");
  app.add_option("--binary", options.binary, "the server")->capture_default_str();
  app.add_option("--data-dir", options.folder, "folder for the data; an earlier run's documents there are used again");
  app.add_option("--docs", options.documents, "documents to fill in")
      ->capture_default_str()
      ->check(CLI::Range(1000, 100'000'000));
  app.add_option("--seconds", arguments.seconds, "for each measurement")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0));
  app.add_option("--rounds", options.rounds, "result and limit take turns this often; the best counts")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  app.add_option("--q", options.q, "physical partitions of the database")->capture_default_str();
  app.add_option("--threads", options.threads, "I/O threads of the bare server")->capture_default_str();
  app.add_option("--idle-followers", options.idle_followers, "for the case of that name")->capture_default_str();
  std::vector<std::string> names;
  std::string help = "only these cases, separated by commas:";
  for (const auto& one : all_cases()) {
    names.push_back(one.name);
    help += fmt::format("\n  {}: {}", one.name, one.help);
  }
  app.add_option("--only", arguments.only, help)->delimiter(',')->check(CLI::IsMember(names));
  app.add_option("--json", arguments.json_path, "also write the results as JSON to this file; - is standard output");
  app.add_flag("--keep", arguments.keep, "keep the folder");
  app.add_option("--server-args", options.server_arguments, "more arguments of `octavo serve`")->delimiter(' ');
  CLI11_PARSE(app, argc, argv);

  options.duration = std::chrono::milliseconds(static_cast<std::int64_t>(arguments.seconds * 1000));
  const bool own_folder = options.folder.empty();
  if (own_folder) options.folder = std::filesystem::temp_directory_path() / fmt::format("octavo-bench-{}", ::getpid());
  int code = 1;
  try {
    code = run_cases(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "octavo_bench: {}\n", error.what());
  }
  if (own_folder && !arguments.keep) {
    std::error_code ignored;
    std::filesystem::remove_all(options.folder, ignored);
  }
  return code;
}

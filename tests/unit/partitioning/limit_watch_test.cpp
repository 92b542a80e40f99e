// Which partitions near a limit are warned of, and how they are counted.
#include "partitioning/throughput/limit_watch.h"

#include <mutex>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

using namespace std::chrono_literals;

namespace octavo::partitioning {
namespace {

/// What the log says meanwhile.
class LogText {
 public:
  LogText() : former_(spdlog::default_logger()) {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text_);
    sink->set_pattern("%v");
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink));
  }
  ~LogText() { spdlog::set_default_logger(former_); }
  LogText(const LogText&) = delete;
  LogText& operator=(const LogText&) = delete;

  std::string take() {
    std::string taken = text_.str();
    text_.str("");
    return taken;
  }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> former_;
};

PartitionUse use_of(std::uint64_t bytes, double per_second, bool is_throttled) {
  return {
      .bytes = bytes, .bytes_max = 1000, .per_second = per_second, .per_second_max = 100, .is_throttled = is_throttled};
}

LimitReport logical(std::uint64_t bytes, double per_second = 0, bool is_throttled = true) {
  return {.logical = {{"ann\n", 0, use_of(bytes, per_second, is_throttled)}}, .physical = {}};
}

const LimitWatch::Clock::time_point start = LimitWatch::Clock::now();

}  // namespace

TEST_CASE("a logical partition is warned of from 80 % of its bytes on, and again only after it was below 75 %") {
  LogText log;
  LimitWatch watch;
  watch.note("tag", "shop", logical(799), start);
  CHECK(log.take().empty());
  watch.note("tag", "shop", logical(800), start);
  const std::string warning = log.take();
  CHECK(warning.starts_with(R"(database shop: logical partition "ann\n" has 800 of at most 1000 bytes (80 %);)"));
  watch.note("tag", "shop", logical(990), start + 5h);
  CHECK(log.take().empty());
  watch.note("tag", "shop", logical(740), start + 6h);
  watch.note("tag", "shop", logical(900), start + 7h);
  CHECK_FALSE(log.take().empty());
}

TEST_CASE("a partition is warned of at most once in an hour") {
  LogText log;
  LimitWatch watch;
  watch.note("tag", "shop", logical(900), start);
  log.take();
  for (const auto minutes : {20min, 40min}) {
    watch.note("tag", "shop", logical(100), start + minutes);
    watch.note("tag", "shop", logical(900), start + minutes + 1min);
    CHECK(log.take().empty());
  }
}

TEST_CASE("request units are warned of where they are limited, of logical and of physical partitions") {
  LogText log;
  LimitWatch watch;
  watch.note("tag", "shop", logical(0, 95, false), start);
  CHECK(log.take().empty());
  watch.note("tag", "shop", logical(0, 95), start);
  CHECK(log.take().find("spends 95 of at most 100 request units per second") != std::string::npos);
  watch.note("tag", "shop", {.logical = {}, .physical = {{3, use_of(990, 85, true)}}}, start);
  CHECK(log.take().starts_with("database shop: physical partition 3 spends 85 of at most 100 request units"));
}

TEST_CASE("partitions near a limit are counted over all databases that are open") {
  LogText log;
  LimitWatch watch;
  watch.note("one", "one", logical(800), start);
  watch.note("two", "two", logical(960), start);
  watch.note("two", "two", logical(970), start);
  const auto both = watch.totals().logical_bytes;
  CHECK(both.at_least == std::array<std::size_t, 2>{2, 1});
  CHECK(both.largest_share == Approx(0.97));
  watch.keep_only({"one"}, start);
  const auto one = watch.totals().logical_bytes;
  CHECK(one.at_least == std::array<std::size_t, 2>{1, 0});
  CHECK(watch.totals().physical_bytes.largest_share == 0);
}

}  // namespace octavo::partitioning

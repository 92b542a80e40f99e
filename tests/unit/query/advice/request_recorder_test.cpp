#include "query/advice/request_recorder.h"

#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using octavo::query::FieldPath;
using octavo::query::advice::QueryOutline;
using octavo::query::advice::RequestRecorder;

namespace {

void record_query(RequestRecorder& recorder, std::string_view text, bool in_partition = false) {
  recorder.record({.text = text, .in_partition = in_partition, .request_units = 2.5, .results = 10}, [] {
    QueryOutline outline;
    outline.equalities = {*FieldPath::parse("a")};
    return outline;
  });
}

}  // namespace

TEST_CASE("queries are counted by shape, the most frequent first") {
  RequestRecorder recorder;
  CHECK(recorder.recorded().count == 0);
  for (int i = 0; i < 3; ++i) record_query(recorder, "a $eq ?");
  record_query(recorder, "b $eq ?");
  const auto recorded = recorder.recorded();
  CHECK(recorded.count == 4);
  CHECK(recorded.since_s > 0);
  REQUIRE(recorded.shapes.size() == 2);
  const auto& first = recorded.shapes.front();
  CHECK(first.text == "a $eq ?");
  CHECK(first.count == 3);
  CHECK(first.request_units == 7.5);
  CHECK(first.results == 30);
  CHECK(first.equalities == std::vector{*FieldPath::parse("a")});
}

TEST_CASE("a query of a logical partition has another shape than the same query of the database") {
  RequestRecorder recorder;
  record_query(recorder, "a $eq ?", true);
  record_query(recorder, "a $eq ?", false);
  const auto recorded = recorder.recorded();
  REQUIRE(recorded.shapes.size() == 2);
  CHECK(recorded.shapes[0].in_partition != recorded.shapes[1].in_partition);
}

TEST_CASE("of very many shapes the frequent ones are kept, and long texts are cut") {
  RequestRecorder recorder;
  for (int i = 0; i < 5'000; ++i) {
    record_query(recorder, std::to_string(i) + std::string(2'000, 'x'));
    record_query(recorder, "frequent");
  }
  const auto recorded = recorder.recorded();
  CHECK(recorded.count == 10'000);
  CHECK(recorded.shapes.size() == RequestRecorder::shapes_max);
  CHECK(recorded.shapes.front().text == "frequent");
  CHECK(recorded.shapes.front().count == 5'000);
  CHECK(recorded.shapes.back().text.size() == RequestRecorder::text_bytes_max);
}

TEST_CASE("records of a database that is not used are dropped") {
  RequestRecorder recorder;
  record_query(recorder, "a $eq ?");
  recorder.forget_if_idle();
  CHECK(recorder.recorded().count == 1);
  recorder.forget_if_idle();
  CHECK(recorder.recorded().count == 0);
  record_query(recorder, "a $eq ?");
  CHECK(recorder.recorded().count == 1);
}

TEST_CASE("threads may record at the same time") {
  RequestRecorder recorder;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&recorder, thread] {
        for (int i = 0; i < 1'000; ++i) record_query(recorder, std::to_string((thread + i) % 8));
      });
    }
  }
  const auto recorded = recorder.recorded();
  CHECK(recorded.count == 4'000);
  for (const auto& shape : recorded.shapes) CHECK(shape.count == 500);
}

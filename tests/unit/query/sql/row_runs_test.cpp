// Runs of rows that are equal to ORDER BY, read from an index.
#include "query/sql/run/internal/row_runs.h"

#include <optional>
#include <string>
#include <string_view>

#include <catch2/catch.hpp>

using octavo::query::sql::RowRuns;

namespace {

constexpr auto has_room = [] { return true; };
constexpr auto has_no_room = [] { return false; };

/// Takes the row of an entry with these fields, at `position`.
bool take_row(RowRuns& runs, std::string_view fields, std::string_view order, std::string_view position) {
  runs.see_entry(fields);
  return runs.take(order, true, position, has_room);
}

}  // namespace

TEST_CASE("rows with equal values of ORDER BY are one run, whatever other fields their entries have") {
  RowRuns runs;
  take_row(runs, "a1", "a", "1");
  take_row(runs, "a2", "a", "2");
  take_row(runs, "b1", "b", "3");

  CHECK(runs.current() == 1);
  CHECK(runs.start_of(0) == "1");
  CHECK(runs.start_of(1) == "3");
}

TEST_CASE("rows whose entries have the same fields are one run, though their values differ") {
  RowRuns runs;
  take_row(runs, "[array]", "[1]", "1");
  take_row(runs, "[array]", "[2]", "2");

  CHECK(runs.current() == 0);
}

TEST_CASE("a row begins no run without room, but belongs to the run before it") {
  RowRuns runs;
  take_row(runs, "a", "a", "1");
  runs.see_entry("a");
  CHECK(runs.take("a", true, "2", has_no_room));

  runs.see_entry("b");
  CHECK_FALSE(runs.take("b", true, "3", has_no_room));
  CHECK(runs.current() == 0);
}

TEST_CASE("a run is complete once a row with another value was seen") {
  RowRuns runs;
  take_row(runs, "a", "a", "1");
  CHECK(runs.complete() == 0);

  runs.see_entry("b");
  REQUIRE(runs.may_be_over());
  runs.see_order("b");

  CHECK(runs.complete() == 1);
}

TEST_CASE("a page begins at the first run that is not returned, or else where the walk is") {
  RowRuns runs;
  take_row(runs, "a", "a", "1");
  take_row(runs, "b", "b", "3");

  CHECK(runs.start_after(1, "5", false) == "3");
  CHECK(runs.start_after(2, "5", false) == "5");
  CHECK(runs.start_after(2, std::string("5\0", 2), true) == "5");
  CHECK(runs.start_after(2, std::nullopt, false).empty());
}

TEST_CASE("entries are known by their fields to belong to a run only if its values are scalars") {
  RowRuns runs;
  runs.see_entry("a");
  runs.take("a", true, "1", has_room);
  CHECK(runs.has_fields("a"));
  CHECK_FALSE(runs.has_fields("b"));

  runs.see_entry("[array]");
  runs.take("[1]", false, "2", has_room);
  CHECK_FALSE(runs.has_fields("[array]"));
}

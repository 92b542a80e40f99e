#include "base/jobs/run_guarded.h"

#include <new>
#include <stdexcept>
#include <string>

#include <catch2/catch.hpp>

using namespace octavo;

namespace {

template <class Exception>
Error error_after(Exception exception) {
  const auto done = run_guarded("work", [&]() -> Expected<void> { throw exception; });
  REQUIRE_FALSE(done);
  return done.error();
}

}  // namespace

TEST_CASE("guarded work returns what it returns") {
  CHECK(run_guarded("work", []() -> Expected<int> { return 7; }) == 7);
  const auto refused = run_guarded("work", []() -> Expected<int> { return fail(ErrorCode::disk_full, "full"); });
  CHECK(refused.error() == Error{ErrorCode::disk_full, "full", {}});
}

TEST_CASE("an exception in guarded work becomes an error of its kind") {
  CHECK(error_after(std::bad_alloc()).code == ErrorCode::overloaded);
  const Error damaged{ErrorCode::corrupted, "page 7", {}};
  CHECK(error_after(ReadFailure(damaged)) == damaged);
  CHECK(error_after(std::runtime_error("a bug")).code == ErrorCode::internal);
}

TEST_CASE("an error without a reason is explained by its code") {
  CHECK(reason_of({ErrorCode::disk_full, "full", {}}) == "full");
  CHECK(reason_of(error_after(std::bad_alloc())) == "The server is short of memory.");
  CHECK(reason_of(error_after(std::runtime_error("a bug"))) == "An internal error; the log has its cause.");
}

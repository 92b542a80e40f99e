#include "api/http/caught_error.h"

#include <new>
#include <stdexcept>

#include <catch2/catch.hpp>

#include "base/read_failure.h"

using namespace octavo;

namespace {

template <class Exception>
Error error_after(const Exception& exception) {
  try {
    throw exception;
  } catch (...) {
    return api::caught_error();
  }
}

}  // namespace

TEST_CASE("a request that ran out of memory is answered as overloaded") {
  CHECK(error_after(std::bad_alloc()).code == ErrorCode::overloaded);
}

TEST_CASE("a page that cannot be read is answered with its own error") {
  const Error error = error_after(ReadFailure({ErrorCode::corrupted, "page 7", {}}));
  CHECK(error.code == ErrorCode::corrupted);
  CHECK(error.reason == "page 7");
}

TEST_CASE("any other exception of a request reaches the connection") {
  CHECK_THROWS_AS(error_after(std::runtime_error("other")), std::runtime_error);
}

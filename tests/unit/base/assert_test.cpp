#include "base/assert.h"

#include <array>
#include <csignal>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace {

struct EndedChild {
  int status = 0;
  std::string stderr_text;
};

/// Runs `body` in a child process. The child exits with 0 if `body` returns.
template <class Body>
EndedChild run_in_child(Body body) {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    // The test program's handler would report a failed test.
    std::signal(SIGABRT, SIG_DFL);
    constexpr rlimit no_core_file{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core_file);
    ::dup2(pipe[1], STDERR_FILENO);
    body();
    ::_exit(0);
  }
  ::close(pipe[1]);
  EndedChild ended;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = ::read(pipe[0], buffer.data(), buffer.size())) > 0;) {
    ended.stderr_text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ::close(pipe[0]);
  REQUIRE(::waitpid(child, &ended.status, 0) == child);
  return ended;
}

}  // namespace

TEST_CASE("a failed assertion says where and what, and ends the process with SIGABRT") {
  const int parts = 3;
  const EndedChild ended = run_in_child([&] { OCTAVO_ASSERT_ENABLED(parts == 4); });
  REQUIRE(WIFSIGNALED(ended.status));
  CHECK(WTERMSIG(ended.status) == SIGABRT);
  CHECK_THAT(ended.stderr_text, Catch::Contains("assert_test.cpp:") && Catch::Contains("parts == 4"));
}

TEST_CASE("an assertion that holds changes nothing") {
  const EndedChild ended = run_in_child([] { OCTAVO_ASSERT_ENABLED(std::array<int, 2>{1, 2}.size() == 2); });
  REQUIRE(WIFEXITED(ended.status));
  CHECK(WEXITSTATUS(ended.status) == 0);
  CHECK(ended.stderr_text.empty());
}

TEST_CASE("a disabled assertion is not evaluated") {
  int evaluations = 0;
  const auto fails = [&] {
    ++evaluations;
    return false;
  };
  OCTAVO_ASSERT_DISABLED(fails());
  CHECK(evaluations == 0);
}

TEST_CASE("assertions are enabled as the build says") {
  int evaluations = 0;
  const auto holds = [&] {
    ++evaluations;
    return true;
  };
  OCTAVO_ASSERT(holds());
#if defined(OCTAVO_ASSERTIONS)
  CHECK(evaluations == 1);
#else
  CHECK(evaluations == 0);
#endif
}

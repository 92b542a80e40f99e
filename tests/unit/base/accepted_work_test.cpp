#include "base/jobs/accepted_work.h"

#include <optional>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <catch2/catch.hpp>

using octavo::AcceptedWork;
using octavo::Task;

namespace {

// Waits on an executor of its own, which runs when the test asks whether the waiting is over.
class Waiter {
 public:
  explicit Waiter(AcceptedWork& work) {
    boost::asio::co_spawn(io_, wait(work), boost::asio::detached);
    io_.poll();
  }
  bool is_over() {
    io_.poll();
    return over_;
  }

 private:
  Task<void> wait(AcceptedWork& work) {
    co_await work.wait_for_accepted();
    over_ = true;
  }

  boost::asio::io_context io_;
  bool over_ = false;
};

}  // namespace

TEST_CASE("without work there is nothing to wait for") {
  AcceptedWork work;
  CHECK(Waiter(work).is_over());
}

TEST_CASE("accepted work is waited for until all of it is done, in whatever order") {
  AcceptedWork work;
  std::optional first(work.accept());
  std::optional second(work.accept());
  Waiter waiter(work);
  CHECK(!waiter.is_over());
  second.reset();
  CHECK(!waiter.is_over());
  first.reset();
  CHECK(waiter.is_over());
}

TEST_CASE("work that is accepted later is not waited for") {
  AcceptedWork work;
  std::optional earlier(work.accept());
  Waiter waiter(work);
  std::optional later(work.accept());
  Waiter other(work);
  earlier.reset();
  CHECK(waiter.is_over());
  CHECK(!other.is_over());
  later.reset();
  CHECK(other.is_over());
}

TEST_CASE("accepted work that moves is done once, and may end after its owner") {
  std::optional<AcceptedWork> work(std::in_place);
  std::optional<AcceptedWork::Piece> piece(work->accept());
  AcceptedWork::Piece moved = *std::move(piece);
  piece.reset();
  Waiter waiter(*work);
  CHECK(!waiter.is_over());
  work.reset();
  {
    const AcceptedWork::Piece last = std::move(moved);
  }
  CHECK(waiter.is_over());
}

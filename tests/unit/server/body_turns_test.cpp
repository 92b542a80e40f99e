#include "server/body_turns.h"

#include <memory>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>

using namespace octavo;
using octavo::server::BodyTurns;

namespace {

namespace asio = boost::asio;

/// Notes when it gets its turn for each of its pieces.
Task<void> read_body(BodyTurns& turns, std::string& order, char name, std::size_t pieces) {
  for (; pieces > 0; --pieces) {
    co_await turns.wait(pieces);
    order += name;
  }
}

struct Waiting {
  asio::io_context context{1};
  BodyTurns turns{context};
  std::string order;
  void add(char name, std::size_t pieces) {
    asio::co_spawn(context, read_body(turns, order, name, pieces), asio::detached);
  }
};

Task<void> hold(std::shared_ptr<int> held, BodyTurns& turns) {
  co_await turns.wait(1);
  ++*held;
}

}  // namespace

TEST_CASE("bodies get their turns one after the other, that with the least left first") {
  Waiting waiting;
  waiting.add('c', 5);
  waiting.add('a', 2);
  waiting.add('b', 3);
  waiting.context.run();
  CHECK(waiting.order == "aabbbccccc");
}

TEST_CASE("bodies with as much left get their turns in the order in which they came") {
  Waiting waiting;
  for (const char name : {'a', 'b', 'c'}) waiting.add(name, 1);
  waiting.context.run();
  CHECK(waiting.order == "abc");
}

TEST_CASE("between two turns everything else that is ready runs") {
  Waiting waiting;
  waiting.add('a', 3);
  waiting.add('b', 4);
  // As requests do that arrive one after the other.
  const auto request = [&](const auto& again, int left) -> void {
    waiting.order += '.';
    if (left > 1) asio::post(waiting.context, [&again, left] { again(again, left - 1); });
  };
  asio::post(waiting.context, [&] { request(request, 4); });
  waiting.context.run();
  CHECK(waiting.order.substr(0, 8) == ".a.a.a.b");
}

TEST_CASE("whoever still waits at the end is let go of") {
  const auto held = std::make_shared<int>(0);
  {
    asio::io_context context{1};
    BodyTurns turns(context);
    for (int i = 0; i < 3; ++i) asio::co_spawn(context, hold(held, turns), asio::detached);
    context.poll_one();
    context.poll_one();
    turns.end();
  }
  CHECK(*held == 0);
  CHECK(held.use_count() == 1);
}

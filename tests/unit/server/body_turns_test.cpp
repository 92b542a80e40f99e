#include "server/connection/body_turns.h"

#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <thread>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>

using namespace octavo;
using octavo::server::BodyBytes;
using octavo::server::BodyTurns;

namespace {

namespace asio = boost::asio;

/// Notes when it gets its turn for each of its pieces.
Task<void> read_body(BodyTurns& turns, std::string& order, char name, std::size_t pieces) {
  BodyTurns::Body body(turns);
  for (; pieces > 0; --pieces) {
    co_await body.wait(pieces);
    order += name;
  }
}

struct Waiting {
  ~Waiting() { turns.end(); }
  asio::io_context context{1};
  BodyBytes bytes;
  BodyTurns turns{context, bytes};
  std::string order;
  void add(char name, std::size_t pieces) {
    asio::co_spawn(context, read_body(turns, order, name, pieces), asio::detached);
  }
};

Task<void> hold(std::shared_ptr<int> held, BodyTurns& turns) {
  BodyTurns::Body body(turns);
  co_await body.wait(1);
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
  // Each request starts the next one, so they arrive one after the other.
  const auto request = [&](const auto& again, int left) -> void {
    waiting.order += '.';
    if (left > 1) asio::post(waiting.context, [&again, left] { again(again, left - 1); });
  };
  asio::post(waiting.context, [&] { request(request, 4); });
  waiting.context.run();
  CHECK(waiting.order.substr(0, 8) == ".a.a.a.b");
}

TEST_CASE("no connection reads while enough bytes are there") {
  Waiting waiting;
  waiting.bytes.in_hand = BodyTurns::in_hand_bytes_max;
  waiting.add('a', 3);
  waiting.context.poll();
  CHECK(waiting.order.empty());
  waiting.bytes.in_hand = BodyTurns::in_hand_bytes_max - 1;
  waiting.context.run();
  CHECK(waiting.order == "aaa");
}

TEST_CASE("once in a while one body reads however much is in hand") {
  Waiting waiting;
  waiting.bytes.in_hand = BodyTurns::in_hand_bytes_max;
  waiting.add('a', 3);
  waiting.context.run();
  CHECK(waiting.order == "aaa");
}

TEST_CASE("while much is held only the bodies that end next are read") {
  Waiting waiting;
  waiting.bytes.held = BodyTurns::few_held_bytes;
  std::deque<BodyTurns::Body> few;
  for (std::size_t i = 0; i < BodyTurns::few_bodies; ++i) few.emplace_back(waiting.turns);
  // They have had a turn, and wait for their clients.
  for (auto& body : few) asio::co_spawn(waiting.context, body.wait(1), asio::detached);
  waiting.context.run();
  waiting.context.restart();
  waiting.add('z', 3);

  SECTION("the others do not") {
    waiting.context.poll();
    CHECK(waiting.order.empty());
  }
  SECTION("who has less left than they does") {
    few.emplace_back(waiting.turns);
    asio::co_spawn(waiting.context, few.back().wait(0), [&](const std::exception_ptr&) { waiting.order += 'a'; });
    waiting.context.poll();
    CHECK(waiting.order == "a");
  }
  SECTION("the others do as soon as one of them is done") {
    few.pop_back();
    waiting.context.poll();
    CHECK(waiting.order == "zzz");
  }
  SECTION("the others do as soon as less is held") {
    waiting.bytes.held = BodyTurns::few_held_bytes - 1;
    waiting.context.poll();
    CHECK(waiting.order == "zzz");
  }
  SECTION("connections that send nothing delay no others") {
    std::this_thread::sleep_for(BodyTurns::moving_within + std::chrono::milliseconds{10});
    waiting.context.poll();
    CHECK(waiting.order == "zzz");
  }
}

TEST_CASE("coroutines that still wait at the end are destroyed") {
  const auto held = std::make_shared<int>(0);
  {
    asio::io_context context{1};
    const BodyBytes bytes;
    BodyTurns turns(context, bytes);
    for (int i = 0; i < 3; ++i) asio::co_spawn(context, hold(held, turns), asio::detached);
    context.poll_one();
    context.poll_one();
    turns.end();
  }
  CHECK(*held == 0);
  CHECK(held.use_count() == 1);
}

// How the server and the analytical process talk: frames, errors, batches.
#include "analytics/channel/channel.h"

#include <chrono>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <utility>

#include <catch2/catch.hpp>

#include "analytics/channel/batch.h"

using namespace octavo;
using analytics::Channel;
using analytics::FrameKind;
using analytics::RowChange;
using namespace std::chrono_literals;

namespace {

std::pair<Channel, Channel> channels() {
  auto ends = analytics::socket_pair(SOCK_STREAM);
  REQUIRE(ends);
  return {Channel(std::move(ends->first)), Channel(std::move(ends->second))};
}

}  // namespace

TEST_CASE("frames arrive whole, also those that are larger than a socket's buffer") {
  auto [one, other] = channels();
  const std::string large(5 << 20, 'x');
  std::thread sender([&channel = one, &large] {
    REQUIRE(channel.send(FrameKind::rows, large));
    REQUIRE(channel.send(FrameKind::end, ""));
  });
  const auto first = other.receive(large.size());
  const auto second = other.receive();
  sender.join();
  REQUIRE(first);
  CHECK(first->kind == FrameKind::rows);
  CHECK(first->payload == large);
  REQUIRE(second);
  CHECK(second->kind == FrameKind::end);
  CHECK(second->payload.empty());
}

TEST_CASE("waiting for a frame ends, and a closed channel is an error that may pass") {
  auto [one, other] = channels();
  const auto none = other.receive(1ms);
  REQUIRE(none);
  CHECK_FALSE(none->has_value());
  one.shut_down();
  const auto closed = other.receive(1ms);
  REQUIRE_FALSE(closed);
  CHECK(closed.error().code == ErrorCode::overloaded);
  CHECK_FALSE(other.send(FrameKind::rows, "x"));
}

TEST_CASE("a descriptor is passed over a socket") {
  auto control = analytics::socket_pair(SOCK_SEQPACKET);
  auto ends = analytics::socket_pair(SOCK_STREAM);
  REQUIRE(control);
  REQUIRE(ends);
  REQUIRE(analytics::send_descriptor(control->first, ends->second));
  auto received = analytics::receive_descriptor(control->second);
  REQUIRE(received);
  Channel one(std::move(ends->first));
  Channel other(*std::move(received));
  REQUIRE(one.send(FrameKind::reply, "{}"));
  CHECK(other.receive()->payload == "{}");
  control->first = analytics::Descriptor();
  CHECK_FALSE(analytics::receive_descriptor(control->second));
}

TEST_CASE("errors are the same on the other side") {
  const Error error{ErrorCode::bad_request, "near \"x\"\n", "invalid_sql"};
  CHECK(analytics::error_of_payload(analytics::failure_payload(error)) == error);
  CHECK(analytics::error_of_payload("{").code == ErrorCode::internal);
  CHECK(analytics::error_of_payload(R"({"code":999,"reason":"x"})").code == ErrorCode::internal);
}

TEST_CASE("a frame that is larger than expected is an error, and takes no memory") {
  auto [one, other] = channels();
  REQUIRE(one.send(FrameKind::rows, std::string(1'000, 'x')));
  const auto refused = other.receive(999);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::overloaded);
}

TEST_CASE("reasons that are cut through a character, or are long, are sent") {
  const Error cut{ErrorCode::bad_request, "near \xC3", "invalid_sql"};
  CHECK(analytics::error_of_payload(analytics::failure_payload(cut)).reason == "near ?");
  const Error long_one{ErrorCode::bad_request, std::string(1 << 20, 'x'), "invalid_sql"};
  CHECK(analytics::error_of_payload(analytics::failure_payload(long_one)).reason.size() == 16 << 10);
}

TEST_CASE("batches and removals are read as they were written, and refused when they are cut off") {
  analytics::BatchWriter writer(3, 9, true);
  writer.add({.id = "a", .revision = "1-x", .modified_s = 5, .row = RowChange::replace, .json = R"({"n":1})"});
  writer.add({.id = "b", .revision = "", .modified_s = 0, .row = RowChange::mark_deleted, .json = ""});
  const auto batch = analytics::read_batch(writer.payload());
  REQUIRE(batch);
  CHECK(batch->from == 3);
  CHECK(batch->reached == 9);
  CHECK(batch->complete);
  REQUIRE(batch->changes.size() == 2);
  CHECK(batch->changes[0].json == R"({"n":1})");
  CHECK(batch->changes[0].modified_s == 5);
  CHECK(batch->changes[1].row == RowChange::mark_deleted);
  CHECK_FALSE(analytics::read_batch(writer.payload().substr(0, writer.payload().size() - 1)));

  const auto removal = analytics::read_removal(analytics::removal_payload({"a", "b c"}, 4, true));
  REQUIRE(removal);
  CHECK(removal->marks);
  CHECK(removal->purge_count == 4);
  CHECK(removal->ids == std::vector<std::string_view>{"a", "b c"});
}

#include "storage/body/stored_body.h"

#include <random>
#include <string>

#include <catch2/catch.hpp>

#include "base/byte_codec.h"
#include "config/settings.h"

using namespace octavo;
using namespace octavo::storage;

namespace {

std::string json_to_pack(std::size_t bytes) {
  std::string json = R"({"items":[)";
  for (int i = 0; json.size() + 30 < bytes; ++i) json += R"({"name":"n)" + std::to_string(i % 50) + R"(","value":1},)";
  json += R"("")";
  json.append(bytes - json.size() - 2, ' ');
  json += "]}";
  return json;
}

std::string random_bytes(std::size_t bytes) {
  std::mt19937 random(7);
  std::string text(bytes, ' ');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

ErrorCode error_of(std::string_view packed) {
  const auto body = StoredBody::of_packed(packed);
  if (!body) return body.error().code;
  BodyBuffer buffer;
  const auto json = body->open(buffer);
  return json ? ErrorCode::internal : json.error().code;
}

}  // namespace

TEST_CASE("a packed body is opened as it was packed") {
  BodyBuffer buffer;
  for (const std::size_t bytes : {1024U, 2000U, 5'000U, 200'000U, 3'000'000U}) {
    const std::string json = json_to_pack(bytes);
    REQUIRE(json.size() == bytes);
    const std::string packed = pack_body(json);
    INFO(bytes);
    REQUIRE_FALSE(packed.empty());
    CHECK(packed.size() <= bytes - bytes / 8);
    const StoredBody body = StoredBody::of_packed(packed).value();
    CHECK(body.is_packed());
    CHECK(body.size() == bytes);
    const bool is_same = body.open(buffer).value() == json;
    CHECK(is_same);
  }
}

TEST_CASE("short bodies, and those that would hardly become smaller, stay JSON") {
  CHECK(pack_body(json_to_pack(1023)).empty());
  CHECK_FALSE(pack_body(json_to_pack(1024)).empty());
  CHECK(pack_body("{}").empty());
  CHECK(pack_body("").empty());
  CHECK(pack_body(random_bytes(5'000)).empty());
  // An eighth less is enough: the first part cannot be compressed, the second nearly vanishes.
  CHECK(pack_body(random_bytes(9'000) + std::string(1'000, 'x')).empty());
  CHECK_FALSE(pack_body(random_bytes(8'000) + std::string(2'000, 'x')).empty());
}

TEST_CASE("a stored body says itself whether it is packed") {
  const std::string json = json_to_pack(2'000);
  BodyBuffer buffer;
  for (const std::string& packed : {std::string(), pack_body(json)}) {
    const StoredBody body = packed.empty() ? StoredBody::of_json(json) : StoredBody::of_packed(packed).value();
    std::string row;
    body.encode(row);
    const StoredBody decoded = StoredBody::decode(row).value();
    CHECK(decoded.is_packed() == !packed.empty());
    CHECK(decoded.size() == json.size());
    CHECK(decoded.open(buffer).value() == json);
    const OwnedBody copy(decoded);
    row.assign(row.size(), 'x');
    CHECK(copy.view().is_packed() == !packed.empty());
    CHECK(copy.view().open(buffer).value() == json);
  }
  CHECK(StoredBody().open(buffer).value() == "{}");
  CHECK(OwnedBody().view().open(buffer).value() == "{}");
}

TEST_CASE("opened bodies stay where they are when their buffer is moved") {
  const std::string json = json_to_pack(1'500);
  const std::string packed = pack_body(json);
  BodyBuffer buffer;
  const std::string_view opened = StoredBody::of_packed(packed).value().open(buffer).value();
  BodyBuffer moved = std::move(buffer);
  CHECK(opened == json);
  CHECK(StoredBody::of_packed(packed).value().open(buffer).value() == json);  // NOLINT(bugprone-use-after-move)
  CHECK(opened == json);
}

TEST_CASE("a damaged body is refused") {
  const std::string json = json_to_pack(2'000);
  const std::string packed = pack_body(json);
  CHECK(error_of("") == ErrorCode::corrupted);
  CHECK(error_of(packed + 'x') == ErrorCode::corrupted);
  for (std::size_t cut = 0; cut < packed.size(); ++cut) {
    CHECK(error_of(std::string_view(packed).substr(0, cut)) == ErrorCode::corrupted);
  }
  std::mt19937 random(3);
  BodyBuffer buffer;
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = packed;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
    const auto body = StoredBody::of_packed(damaged);
    if (!body) continue;
    const auto opened = body->open(buffer);
    // What changes nothing but an unused bit of the frame's head does no harm.
    if (opened) CHECK(*opened == json);
  }
}

TEST_CASE("a body of another size than it states is refused, before memory is allocated for it") {
  const std::string packed = pack_body(json_to_pack(2'000));
  ByteReader reader(packed);
  REQUIRE(reader.varint() == 2'000);
  const std::string frame(reader.rest());
  const auto stating = [&](std::uint64_t size) {
    std::string bytes;
    ByteWriter writer(bytes);
    writer.varint(size);
    writer.bytes(frame);
    return bytes;
  };
  CHECK_FALSE(error_of(stating(2'000)) == ErrorCode::corrupted);
  for (const std::uint64_t size :
       {std::uint64_t{0}, std::uint64_t{1'999}, std::uint64_t{2'001}, std::uint64_t{100'000}}) {
    CHECK(error_of(stating(size)) == ErrorCode::corrupted);
  }
  CHECK_FALSE(StoredBody::of_packed(stating(config::document_bytes_most + 1)));
  CHECK_FALSE(StoredBody::of_packed(stating(~std::uint64_t{0})));
  // No frame so short has so much.
  CHECK_FALSE(StoredBody::of_packed(stating(config::document_bytes_most)));
}

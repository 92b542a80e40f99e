#include "api/models/container_definition.h"

#include <string>
#include <string_view>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fmt/format.h>

namespace octavo::api::cosmos {
namespace {

boost::json::object definition_body(std::string_view more, std::string_view key = R"({"paths":["/pk"]})") {
  std::string text = R"({"id":"c","partitionKey":)";
  text.append(key).append(more).append("}");
  return boost::json::parse(text).get_object();
}

std::string refusal_of(std::string_view more) {
  const auto definition = ContainerDefinition::from_request(definition_body(more));
  return definition ? "accepted" : definition.error().reason;
}

std::string excluded_paths(const ContainerDefinition& definition) {
  return boost::json::serialize(definition.resource.at("indexingPolicy").get_object().at("excludedPaths"));
}

}  // namespace

TEST_CASE("policies of searches that do not exist are refused unless they are empty") {
  using Catch::Contains;
  CHECK_THAT(refusal_of(R"(,"vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/v"}]})"), Contains("vector search"));
  CHECK_THAT(refusal_of(R"(,"indexingPolicy":{"vectorIndexes":[{"path":"/v"}]})"), Contains("vector search"));
  CHECK_THAT(refusal_of(R"(,"indexingPolicy":{"fullTextIndexes":[{"path":"/t"}]})"), Contains("full-text search"));
  CHECK_THAT(refusal_of(R"(,"fullTextPolicy":{"fullTextPaths":[{"path":"/t"}]})"), Contains("full-text search"));
  CHECK(refusal_of(R"(,"fullTextPolicy":{"fullTextPaths":[]},"vectorEmbeddingPolicy":{"vectorEmbeddings":[]})") ==
        "accepted");
  CHECK(refusal_of(R"(,"indexingPolicy":{"vectorIndexes":[],"fullTextIndexes":null})") == "accepted");
}

TEST_CASE("a time to live of null is refused") {
  CHECK_THAT(refusal_of(R"(,"defaultTtl":null)"), Catch::Contains("defaultTtl"));
}

TEST_CASE("an index leaves out the entity tag unless its policy names it") {
  const auto excluded_by = [](std::string_view included, std::string_view excluded) {
    const auto body = definition_body(
        fmt::format(R"(,"indexingPolicy":{{"includedPaths":[{}],"excludedPaths":[{}]}})", included, excluded));
    return excluded_paths(ContainerDefinition::from_request(body).value());
  };
  const std::string all = R"({"path":"/*"})";
  const std::string etag = R"({"path":"/\"_etag\"/?"})";
  CHECK(excluded_by(R"({"path":"/a/?"})", all) == "[" + all + "," + etag + "]");
  CHECK(excluded_by(all, R"({"path":"/_etag/?"})") == R"([{"path":"/_etag/?"}])");
  CHECK(excluded_by(all + "," + etag, "") == "[]");
  const auto none = definition_body(R"(,"indexingPolicy":{"indexingMode":"none"})");
  CHECK(excluded_paths(ContainerDefinition::from_request(none).value()) == "[]");
}

TEST_CASE("the index of an earlier version does not begin to leave out the entity tag") {
  const auto body =
      definition_body(R"(,"indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/blob/*"}]})");
  const auto definition = ContainerDefinition::from_request(body).value();
  CHECK(excluded_paths(definition) == R"([{"path":"/blob/*"},{"path":"/\"_etag\"/?"}])");
  CHECK(excluded_paths(definition.replaced_by(body).value()) == excluded_paths(definition));

  // A policy of an earlier version stays as it is: another one would be built again.
  auto earlier = definition;
  earlier.resource["indexingPolicy"] = body.at("indexingPolicy");
  CHECK(excluded_paths(earlier.replaced_by(body).value()) == R"([{"path":"/blob/*"}])");
}

TEST_CASE("a policy is automatic unless it has no index, whatever clients send") {
  const auto automatic_of = [](const ContainerDefinition& definition) {
    return definition.resource.at("indexingPolicy").at("automatic").as_bool();
  };
  const auto body = definition_body(R"(,"indexingPolicy":{"automatic":false})");
  auto definition = ContainerDefinition::from_request(body).value();
  CHECK(automatic_of(definition));
  CHECK(automatic_of(definition.replaced_by(body).value()));
  const auto none = definition_body(R"(,"indexingPolicy":{"automatic":true,"indexingMode":"none"})");
  CHECK_FALSE(automatic_of(ContainerDefinition::from_request(none).value()));

  // The index of a stored policy must not change by itself.
  definition.rid = std::string(8, 'x');
  definition.resource["indexingPolicy"].get_object()["automatic"] = false;
  CHECK_FALSE(automatic_of(ContainerDefinition::from_stored(definition.to_stored(), "db/items").value()));
}

TEST_CASE("what an earlier version stored is read without the checks of new definitions") {
  auto definition = ContainerDefinition::from_request(definition_body("")).value();
  definition.rid = std::string(8, 'x');
  definition.resource["indexingPolicy"].get_object()["spatialIndexes"] =
      boost::json::parse(R"([{"path":"/l/*","boundingBox":{}}])");
  definition.resource["vectorEmbeddingPolicy"] = boost::json::parse(R"({"vectorEmbeddings":[{"path":"/v"}]})");
  CHECK(ContainerDefinition::from_stored(definition.to_stored(), "db/items"));
  CHECK_FALSE(ContainerDefinition::from_request(definition.resource));
}

TEST_CASE("a replacement may leave out what cannot change of the partition key") {
  const auto first = ContainerDefinition::from_request(definition_body("", R"({"paths":["/pk"],"version":1})")).value();
  CHECK(first.key_scheme == storage::KeyScheme::hash_v1);
  CHECK(first.replaced_by(definition_body("")).value().key_scheme == storage::KeyScheme::hash_v1);
  CHECK_FALSE(first.replaced_by(definition_body("", R"({"paths":["/pk"],"version":2})")));

  const std::string_view system_key = R"({"paths":["/_partitionKey"],"kind":"Hash","systemKey":true})";
  const auto without_key = ContainerDefinition::from_request(definition_body("", system_key)).value();
  CHECK(without_key.has_system_key);
  CHECK(without_key.replaced_by(definition_body("", R"({"paths":["/_partitionKey"]})")).value().has_system_key);
  CHECK_FALSE(first.has_system_key);
}

}  // namespace octavo::api::cosmos

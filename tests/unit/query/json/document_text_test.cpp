#include "query/json/document_text.h"

#include <catch2/catch.hpp>

using namespace octavo;

TEST_CASE("a document begins with its id and its revision") {
  const auto revision = storage::Revision::parse("2-0123456789abcdef0123456789abcdef").value();
  std::string text;
  query::begin_document(text, "a\"b", revision, R"({"n":1.0})");
  CHECK(text == R"({"_id":"a\"b","_rev":"2-0123456789abcdef0123456789abcdef","n":1.0)");
}

TEST_CASE("a document without members has no comma after its revision") {
  std::string text;
  query::begin_document(text, "a", storage::Revision::parse("1-x").value(), "{}");
  CHECK(text == R"({"_id":"a","_rev":"1-x")");
}

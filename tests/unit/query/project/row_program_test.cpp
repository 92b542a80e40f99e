#include "query/project/row_program.h"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "support/engine_fixture.h"
#include "unit/query/project/document_rows_form.h"

using namespace octavo;
using namespace octavo::query::project;
using octavo::tests::DocumentRowsForm;
using octavo::tests::EngineFixture;

namespace {

ProjectionDefinition projection_definition_of(std::string_view members) {
  const std::string json = R"({"target":{"db":"t"},"id":"{_id}",)" + std::string(members) + "}";
  return ProjectionDefinition::parse(boost::json::parse(json).as_object()).value();
}

std::string projection_compile_error(std::string_view members, bool into_is_partitioned = false) {
  const DocumentRowsForm form;
  const auto program =
      RowProgram::compile(projection_definition_of(members), {form.keeps_key_in_body(), into_is_partitioned}, {});
  return program ? "compiled" : std::string(program.error().word);
}

/// Makes rows of single documents.
class RowFixture {
 public:
  explicit RowFixture(std::string_view members, std::span<const JoinedDatabase> joined = {}, bool partitioned = false)
      : program_(
            RowProgram::compile(projection_definition_of(members), {into_.keeps_key_in_body(), partitioned}, joined)
                .value()),
        joined_(joined),
        partitioned_(partitioned) {}

  ProjectedDocument evaluate(std::string_view body, std::string_view id = "s", std::uint32_t owner = 0) {
    const auto count = [](std::size_t, std::string_view key) -> Expected<std::uint64_t> {
      return key == "many" ? 3 : 0;
    };
    RowEvaluator evaluator(*program_, {.from = from,
                                       .into = into_,
                                       .into_is_partitioned = partitioned_,
                                       .joined = joined_,
                                       .counts = count,
                                       .bytes_max = 200,
                                       .transform = transform()});
    return evaluator.evaluate(view(body, id, owner)).value();
  }
  std::string row(std::string_view body, std::string_view id = "s") {
    const auto result = evaluate(body, id);
    return result.rows.empty() ? "no row" : result.rows.front().body;
  }
  std::optional<std::string> counted(std::string_view body, std::uint32_t owner = 0) {
    RowEvaluator evaluator(
        *program_, {.from = from, .into = into_, .joined = joined_, .counts = {}, .bytes_max = 200, .transform = {}});
    return evaluator.counted_key(0, view(body, "s", owner)).value();
  }

  DocumentRowsForm from;

 private:
  query::javascript::ProgramPtr transform() const {
    const std::string& source = program_->definition().transform;
    if (source.empty()) return nullptr;
    std::vector<query::javascript::Program::Function> functions{{.name = "f", .source = source}};
    return std::make_shared<const query::javascript::Program>("database", std::move(functions), std::string(),
                                                              query::javascript::Program::Kind::transform);
  }
  static storage::DocumentView view(std::string_view body, std::string_view id, std::uint32_t owner) {
    storage::DocumentView document;
    document.id = id;
    document.revision = storage::Revision::parse("1-0123456789abcdef0123456789abcdef").value();
    document.body = body;
    document.owner = owner;
    return document;
  }

  DocumentRowsForm into_;
  std::shared_ptr<const RowProgram> program_;
  std::span<const JoinedDatabase> joined_;
  bool partitioned_;
};

}  // namespace

TEST_CASE("a row has the values of its fields, and none for what is undefined") {
  RowFixture fixture(R"("fields":{"sum":"c.a + 1","b":true,"gone":"c.x.y","-- \"":"c.b -- a comment"})");
  CHECK(fixture.row(R"({"a":1,"b":1.50,"c":2})") == R"({"sum":2,"b":1.50,"-- \"":1.50})");
  CHECK(fixture.row("{}") == "{}");
}

TEST_CASE("a row with all fields of its document has those that are named instead of them") {
  RowFixture fixture(R"("fields":{"*":true,"a":"c.a + 1","n":"c.x"})");
  CHECK(fixture.row(R"({"b":"x","a":1,"n":5,"d":[1.0]})") == R"({"b":"x","d":[1.0],"a":2})");
}

TEST_CASE("a row of a document whose id is implied has it, unless there is one") {
  RowFixture fixture(R"("fields":{"*":true})");
  fixture.from.implies_id = true;
  CHECK(fixture.row(R"({"a":1})") == R"({"a":1,"id":"s"})");
  CHECK(fixture.row(R"({"id":2})") == R"({"id":2})");
  RowFixture named(R"("fields":{"*":true,"id":"c.a"})");
  named.from.implies_id = true;
  CHECK(named.row(R"({"a":1})") == R"({"a":1,"id":1})");
}

TEST_CASE("documents for which `where` does not hold give no row") {
  RowFixture fixture(R"("fields":["a"],"where":"c.a > 1 -- more")");
  CHECK(fixture.row(R"({"a":2})") == R"({"a":2})");
  CHECK(fixture.row(R"({"a":1})") == "no row");
  CHECK(fixture.row("{}") == "no row");
  CHECK(fixture.evaluate("{}").skip == ProjectedDocument::Skip::none);
}

TEST_CASE("design documents and rows of projections give no row") {
  RowFixture fixture(R"("fields":["a"])");
  CHECK(fixture.evaluate("{}", "_design/d").rows.empty());
  CHECK(fixture.evaluate("{}", "s", 7).rows.empty());
  RowFixture derived(R"("fields":["a"],"include_derived":true)");
  CHECK(derived.evaluate("{}", "s", 7).rows.size() == 1);
}

TEST_CASE("a row without a key, and one that cannot be stored, are counted apart") {
  RowFixture fixture(R"("fields":{"*":true},"key":"{k}")", {}, true);
  CHECK(fixture.evaluate(R"({"k":"a:b"})", "x:1").rows.front().id == "a%3Ab:x%3A1");
  CHECK(fixture.evaluate("{}").skip == ProjectedDocument::Skip::no_key);
  CHECK(fixture.evaluate(R"({"k":"a","_x":1})").skip == ProjectedDocument::Skip::error);
  const auto large = fixture.evaluate(R"({"k":"a","text":")" + std::string(300, 'x') + "\"}");
  CHECK(large.skip == ProjectedDocument::Skip::error);
  CHECK(large.reason.find("document_bytes_max") != std::string::npos);
}

TEST_CASE("with `newest` a row that is greater ranks before the others of its partition key") {
  RowFixture fixture(R"("fields":["k","at"],"key":"{k}","newest":{"by":"at","n":2})", {}, true);
  const auto rank = [&](std::string_view body) { return fixture.evaluate(body).rows.front().rank; };
  CHECK(rank(R"({"k":"a","at":2})") < rank(R"({"k":"a","at":1})"));
  CHECK(rank(R"({"k":"a","at":"b"})") < rank(R"({"k":"a","at":"ab"})"));
  CHECK(rank(R"({"k":"a","at":1})") < rank(R"({"k":"a"})"));
  CHECK(rank(R"({"k":"a","at":1})") != rank(R"({"k":"b","at":1})"));
}

TEST_CASE("expressions of a row know joined documents and counts by their names") {
  EngineFixture engine;
  const auto users = engine.create("users");
  EngineFixture::put(*users, "u1", R"({"name":"Ann"})");
  const auto form = std::make_shared<const DocumentRowsForm>();
  const std::vector<JoinedDatabase> joined{{users, form}, {users, form}};
  RowFixture fixture(R"("fields":{"name":"u.name","likes":"l"},"joins":{"u":{"lookup":{"db":"users","id":"{user}"},)"
                     R"("when":"c.named"},"l":{"count":{"db":"users","by":"{x}","equals":"{tag}"}}})",
                     joined);
  CHECK(fixture.row(R"({"named":true,"user":"u1","tag":"many"})") == R"({"name":"Ann","likes":3})");
  CHECK(fixture.row(R"({"named":false,"user":"u1","tag":"none"})") == R"({"likes":0})");
  const auto keys = fixture.evaluate(R"({"named":true,"user":"u9"})").join_keys;
  CHECK(keys == std::vector<std::optional<std::string>>{"u9", std::nullopt});
}

TEST_CASE("without the joined document that it requires a document gives no row, and is known to refer to it") {
  EngineFixture engine;
  const auto users = engine.create("users");
  const std::vector<JoinedDatabase> joined{{users, std::make_shared<const DocumentRowsForm>()}};
  RowFixture fixture(R"("fields":{"u":"u.name"},"joins":{"u":{"lookup":{"db":"users","id":"{user}"},"required":true}})",
                     joined);
  const auto before = fixture.evaluate(R"({"user":"u1"})");
  CHECK(before.rows.empty());
  CHECK(before.join_keys.at(0) == "u1");
  EngineFixture::put(*users, "u1", R"({"name":"Ann"})");
  CHECK(fixture.row(R"({"user":"u1"})") == R"({"u":"Ann"})");
}

TEST_CASE("a count counts documents for which its condition holds, at the value of their template") {
  EngineFixture engine;
  const std::vector<JoinedDatabase> joined{{engine.create("likes"), std::make_shared<const DocumentRowsForm>()}};
  RowFixture fixture(
      R"("fields":["a"],"joins":{"l":{"count":{"db":"likes","where":"c.on","by":"{post}","equals":"{_id}"}}})", joined);
  CHECK(fixture.counted(R"({"on":true,"post":"p:1"})") == "p%3A1");
  CHECK(fixture.counted(R"({"on":false,"post":"p1"})") == std::nullopt);
  CHECK(fixture.counted(R"({"on":true})") == std::nullopt);
  CHECK(fixture.counted(R"({"on":true,"post":"p1"})", 7) == std::nullopt);
}

TEST_CASE("expressions and keys that do not fit are refused when a projection is made") {
  CHECK(projection_compile_error(R"("fields":{"a":"c."})") == "projection_syntax");
  CHECK(projection_compile_error(R"x("fields":{"a":"1) FROM c WHERE (true"})x") == "projection_syntax");
  CHECK(projection_compile_error(R"x("fields":{"a":"COUNT(c)"})x") == "projection_syntax");
  CHECK(projection_compile_error(R"("fields":{"a":"unknown.x"})") == "projection_syntax");
  CHECK(projection_compile_error(R"("fields":["a"],"where":"c.a = @p")") == "projection_syntax");
  CHECK(projection_compile_error(R"("fields":["a"],"key":"{a}")") == "key_template");
  CHECK(projection_compile_error(R"("fields":["a"])", true) == "key_template");
  CHECK(projection_compile_error(R"("fields":["a"])") == "compiled");
}

TEST_CASE("a transform makes several rows, or an error of the document") {
  RowFixture fixture(
      R"json("transform":"(doc) => doc.tags.map((tag) => ({...doc, tag, tags: undefined}))","key":"{tag}")json", {},
      true);
  const auto two = fixture.evaluate(R"({"tags":["a","b"],"n":1.50})");
  REQUIRE(two.rows.size() == 2);
  CHECK(two.rows[0].id == "a:s");
  CHECK(two.rows[1].body == R"({"n":1.5,"tag":"b"})");
  CHECK(two.bytes() == 2 * two.rows[0].body.size());

  const auto without_key = fixture.evaluate(R"({"tags":["a",null,{"b":1}]})");
  CHECK(without_key.rows.size() == 3);
  RowFixture undefined(R"("transform":"(doc) => [{tag: 1}, {}]","key":"{tag}")", {}, true);
  const auto one = undefined.evaluate("{}");
  CHECK(one.rows.size() == 1);
  CHECK(one.skip == ProjectedDocument::Skip::no_key);

  for (const auto& [body, reason] : std::vector<std::pair<std::string, std::string>>{
           {R"({"tags":["a","b","a"]})", "same id 'a:s'"},
           {"{}", "doc.tags is undefined"},
           {R"({"tags":["a"],"_x":1})", "'_x'"},
           {R"({"tags":["a"],"text":")" + std::string(300, 'x') + "\"}", "document_bytes_max"}}) {
    const auto wrong = fixture.evaluate(body);
    CHECK(wrong.rows.empty());
    CHECK(wrong.skip == ProjectedDocument::Skip::error);
    CAPTURE(wrong.reason);
    CHECK(wrong.reason.find(reason) != std::string::npos);
  }
}

// SQL: any text as a query over any document. A query as it is shown means what it meant, what an index would be asked
// misses nothing, and what clients are sent to ask the partitions is a query again.
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "fuzz/target.h"
#include "query/json/normalize.h"
#include "query/json/parsed_document.h"
#include "query/sql/constraints/sql_constraints.h"
#include "query/sql/evaluate/evaluation.h"
#include "query/sql/evaluate/groups.h"
#include "query/sql/evaluate/program.h"
#include "query/sql/evaluate/row_shape.h"
#include "query/sql/run/client_merge_plan.h"
#include "query/sql/run/continuation.h"
#include "query/sql/syntax/syntax_text.h"

namespace {

using namespace octavo;
using namespace octavo::query;
using namespace octavo::query::sql;
using octavo::fuzz::InputReader;
using octavo::fuzz::require;

constexpr std::string_view placeholder = "{documentdb-formattableorderbyquery-filter}";

/// The results of a query over one document, and whether the document passed WHERE.
struct Outcome {
  std::string results;
  bool failed = false;
  bool matched = false;
};

Outcome run(const SqlQuery& query, const storage::DocumentView& document) {
  const Program& program = query.program();
  Outcome outcome;
  Evaluation evaluation(program.root_names, program.slots, &document_rows());
  evaluation.set_started_us(1'600'000'000'000'000);
  if (program.reads_items) evaluation.row.bind(document);
  std::optional<Groups> groups;
  if (program.grouped) groups.emplace(program);
  FromIterator from(program.sources, true);
  from.begin();
  std::size_t rows = 0;
  while (rows < 200 && from.next(evaluation)) {
    if (program.where && !program.where->evaluate(evaluation).is_true()) continue;
    outcome.matched = true;
    ++rows;
    for (const SortItem& item : program.order_by)
      evaluation.append_order_key(outcome.results, item.value->evaluate(evaluation));
    if (groups) {
      groups->add_row(evaluation);
    } else {
      const std::size_t before = outcome.results.size();
      if (program.append_projection(evaluation, outcome.results) && !evaluation.failed()) {
        std::string normal;
        require(normalize_value(std::string_view(outcome.results).substr(before), normal).has_value(),
                "a result is JSON");
      }
    }
  }
  if (groups && !evaluation.failed()) {
    for (const auto& [key, group] : groups->all()) {
      groups->select(evaluation, group);
      program.append_projection(evaluation, outcome.results);
      groups->unselect(evaluation);
    }
  }
  outcome.failed = evaluation.failed();
  return outcome;
}

bool depends_on_chance(std::string text) {
  for (char& c : text) c = static_cast<char>(c | 0x20);
  for (const char* name : {"rand", "getcurrent", "now", "ago"}) {
    if (text.find(name) != std::string::npos) return true;
  }
  return false;
}

void check_plan(const SqlQuery& query, std::span<const SqlParameter> parameters) {
  ContainerKey key;
  key.paths = {{"a"}, {"b"}};
  key.range_of = [](std::span<const boost::json::value>) { return ContainerKey::Range{"05", "05", true}; };
  const auto plan = client_merge_plan(query, key);
  if (!plan) return;
  std::string rewritten(plan->at("queryInfo").at("rewrittenQuery").as_string());
  if (rewritten.empty()) return;
  if (const auto at = rewritten.find(placeholder); at != std::string::npos) {
    rewritten.replace(at, placeholder.size(), "true");
  }
  const auto again = SqlQuery::parse(rewritten, parameters);
  require(again.has_value() || again.error().code == codes::limit_exceeded, "a rewritten query is a query");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputReader in(octavo::fuzz::text_of(data, size));
  static std::string body;
  body.clear();
  std::vector<SpecialField> special;
  if (!normalize_document(in.line(), body, special)) body = R"({"a":1,"b":"x","c":[1,{"d":null},"é"],"e":{"f":2.50}})";
  const std::string text(in.rest());
  (void)Continuation::decode(text);

  const std::vector<SqlParameter> parameters{{"@p", "[1,\"x\",null]"}, {"@n", "3"}, {"@s", "\"x\""}};
  const auto query = SqlQuery::parse(text, parameters);
  if (!query) {
    const SqlError& error = query.error();
    require(!error.message.empty() && error.code.starts_with("SC"), "a refusal has a reason");
    require(error.location.start <= error.location.end && error.location.end <= text.size() + 2, "and a place");
    return 0;
  }
  const std::string shown = text_of((*query)->syntax());
  const auto again = SqlQuery::parse(shown, parameters);
  if (!again) {
    require(again.error().code == codes::limit_exceeded, "a query as shown is a query");
    return 0;
  }
  require(text_of((*again)->syntax()) == shown, "and is shown the same");

  storage::DocumentView document;
  document.id = "b";
  document.sequence = 7;
  document.revision.generation = 1;
  document.body = body;
  const Outcome first = run(**query, document);
  const Outcome second = run(**again, document);
  if (!depends_on_chance(text)) {
    require(first.failed == second.failed, "of the same fate");
    require(first.failed || first.results == second.results, "and the same results");
  }
  if (first.matched && !first.failed && (*query)->program().reads_items) {
    const SqlConstraints constraints = constraints_of(**query, document_rows());
    static DocumentParser parser;
    const auto root = parser.parse(body);
    require(root.has_value(), "what is stored can be read");
    require(constraints.selector.matches(*root, document.id, document.revision.to_string()),
            "an index would have found what matches");
  }
  check_plan(**query, parameters);
  return 0;
}

#include <map>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "find_fixture.h"
#include "query/collation/collation.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::EngineFixture;
using octavo::tests::FindFixture;
using octavo::tests::ids_of;

namespace {

namespace json = boost::json;

// A few fields with a few values of all kinds, so that conditions hit.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  json::value scalar() {
    static const std::vector<std::string> values{"null", "false", "true", "-1.5",  "0",     "1",     "2",     "2.0",
                                                 "3",    "1e3",   "\"\"", "\"a\"", "\"B\"", "\"b\"", "\"ä\"", "\"zz\""};
    return json::parse(values[below(values.size())]);
  }
  json::value value() {
    switch (below(10)) {
      case 0:
        return json::array{scalar(), scalar()};
      case 1:
        return json::object{{"x", scalar()}};
      case 2:
        return json::object{{"y", scalar()}};
      default:
        return scalar();
    }
  }
  std::string field() {
    static const std::vector<std::string> names{"a", "b", "c", "d", "d.x"};
    return names[below(names.size())];
  }
  json::object document() {
    json::object object;
    for (const std::string name : {"a", "b", "c", "d"}) {
      if (below(5) != 0) object[name] = value();
    }
    return object;
  }
  json::value condition() {
    static const std::vector<std::string> operators{"$lt", "$lte", "$eq", "$gt", "$gte", "$ne"};
    switch (below(10)) {
      case 0:
        return json::object{{"$in", json::array{scalar(), scalar(), scalar()}}};
      case 1:
        return json::object{{"$exists", below(2) == 0}};
      case 2:
        return json::object{{"$gte", scalar()}, {"$lt", scalar()}};
      case 3:
        return json::object{{"$not", json::object{{operators[below(6)], scalar()}}}};
      case 4:
        return json::object{{"$type", "string"}};
      case 5:
        return scalar();
      case 6:
        return json::object{{"$nin", json::array{scalar(), scalar()}}};
      default:
        return json::object{{operators[below(6)], scalar()}};
    }
  }
  json::object selector(int depth = 2) {
    json::object object;
    const std::size_t conditions = below(3) + (depth == 2 ? 0 : 1);
    for (std::size_t i = 0; i < conditions; ++i) object[field()] = condition();
    if (depth > 0 && below(3) == 0) {
      json::array sides;
      for (std::size_t i = 0; i < 2 + below(2); ++i) sides.push_back(selector(depth - 1));
      object[below(4) == 0 ? "$and" : "$or"] = std::move(sides);
    }
    return object;
  }
  json::array sort() {
    json::array fields;
    std::set<std::string> used;
    for (std::size_t i = 0; i < 1 + below(2); ++i) {
      const std::string name = below(6) == 0 ? "_id" : field();
      if (used.insert(name).second) fields.push_back(json::object{{name, below(2) == 0 ? "asc" : "desc"}});
    }
    return fields;
  }

 private:
  std::mt19937 random_;
};

using Model = std::map<std::string, json::object>;

std::set<std::string> matching(const Model& model, const json::object& selector, std::string_view prefix) {
  const Selector parsed = *Selector::parse(selector);
  DocumentParser parser;
  std::set<std::string> ids;
  for (const auto& [id, document] : model) {
    if (!id.starts_with(prefix)) continue;
    const auto root = parser.parse(json::serialize(document));
    if (parsed.matches(*root, id, "1-x")) ids.insert(id);
  }
  return ids;
}

const json::value* value_at(const json::object& document, std::string_view path) {
  if (path == "d.x") {
    const auto* d = document.if_contains("d");
    return d && d->is_object() ? d->get_object().if_contains("x") : nullptr;
  }
  return document.if_contains(path);
}

// Documents that lack a field that is sorted by are no results.
std::set<std::string> with_fields(const Model& model, const std::set<std::string>& ids, const json::array& sort) {
  std::set<std::string> result;
  for (const auto& id : ids) {
    const bool all = std::ranges::all_of(sort, [&](const json::value& field) {
      const auto name = field.as_object().begin()->key();
      return name == "_id" || value_at(model.at(id), name) != nullptr;
    });
    if (all) result.insert(id);
  }
  return result;
}

bool in_order(const Model& model, const std::string& first, const std::string& second, const json::array& sort) {
  for (const json::value& field : sort) {
    const auto& member = *field.as_object().begin();
    int order = 0;
    if (member.key() == "_id") {
      order = first.compare(second);
    } else {
      order = compare(*value_at(model.at(first), member.key()), *value_at(model.at(second), member.key()));
    }
    if (member.value() == "desc") order = -order;
    if (order != 0) return order < 0;
  }
  return true;
}

void edit_randomly(FindFixture& fixture, Model& model, Generator& generator, const std::vector<std::string>& partitions,
                   int edits) {
  for (int i = 0; i < edits; ++i) {
    const std::string id = partitions[generator.below(partitions.size())] + "k" + std::to_string(generator.below(40));
    const auto snapshot = *fixture.database->snapshot_for_document(id);
    const auto found = *snapshot.find(id);
    std::optional<storage::Revision> parent;
    if (found && !found->deleted) parent = found->revision;
    const bool remove = parent && generator.below(4) == 0;
    const json::object document = remove ? json::object{} : generator.document();
    EngineFixture::put(*fixture.database, id, json::serialize(document), parent, remove);
    if (remove) {
      model.erase(id);
    } else {
      model[id] = document;
    }
  }
}

void compare_with_model(FindFixture& fixture, const Model& model, Generator& generator, const std::string& partition,
                        int queries) {
  const std::string prefix = partition.empty() ? "" : partition + ":";
  for (int i = 0; i < queries; ++i) {
    json::object request{{"selector", generator.selector()}, {"limit", 1000}};
    auto expected = matching(model, request.at("selector").as_object(), prefix);
    // An operator alone with nothing to combine finds nothing; the generator makes none.
    json::array sort;
    if (generator.below(3) == 0) {
      sort = generator.sort();
      request["sort"] = sort;
      expected = with_fields(model, expected, sort);
    }
    const std::string text = json::serialize(request);
    CAPTURE(text, partition);
    const auto ids = ids_of(fixture.find(text, partition, 1 + generator.below(20)));
    const std::set<std::string> found(ids.begin(), ids.end());
    CHECK(found.size() == ids.size());
    CHECK(found == expected);
    for (std::size_t k = 1; k < ids.size() && !sort.empty(); ++k) CHECK(in_order(model, ids[k - 1], ids[k], sort));
    if (generator.below(4) == 0) {
      auto paged = fixture.find_all_pages(request, 1 + generator.below(7), partition);
      CHECK(std::set<std::string>(paged.begin(), paged.end()) == expected);
      CHECK(paged.size() == expected.size());
      if (!sort.empty()) CHECK(paged == ids);
    }
  }
}

void create_random_index(FindFixture& fixture, Generator& generator, bool partitioned, int number) {
  json::array fields = generator.sort();
  json::object index{{"fields", fields}};
  if (generator.below(3) == 0)
    index["partial_filter_selector"] = json::object{{generator.field(), generator.condition()}};
  json::object request{{"index", index}, {"ddoc", "i" + std::to_string(number)}};
  if (!partitioned && fixture.database->partitioned()) request["partitioned"] = false;
  fixture.create_index(json::serialize(request));
}

}  // namespace

TEST_CASE("queries through global indexes find what a full scan finds, while documents change") {
  const unsigned seed = GENERATE(1U, 2U, 3U, 4U);
  Generator generator(seed);
  FindFixture fixture({false, 2});
  Model model;
  int number = 0;
  for (int round = 0; round < 6; ++round) {
    edit_randomly(fixture, model, generator, {"", "é"}, 40);
    create_random_index(fixture, generator, false, number++);
    if (round % 2 == 1) fixture.wait_for_indexes();
    compare_with_model(fixture, model, generator, "", 40);
  }
}

TEST_CASE("queries of a partition through local indexes find what a full scan finds, while documents change") {
  const unsigned seed = GENERATE(11U, 12U, 13U, 14U);
  Generator generator(seed);
  FindFixture fixture({true, 2});
  Model model;
  int number = 0;
  for (int round = 0; round < 6; ++round) {
    edit_randomly(fixture, model, generator, {"p:", "q:", "p0:"}, 60);
    create_random_index(fixture, generator, true, number++);
    if (round % 2 == 1) fixture.wait_for_indexes();
    compare_with_model(fixture, model, generator, "p", 25);
    compare_with_model(fixture, model, generator, "q", 15);
  }
  fixture.restart();
  compare_with_model(fixture, model, generator, "p", 25);
}

#include <catch2/catch.hpp>

#include "query/json/parsed_document.h"
#include "query/selector/selector.h"
#include "support/random.h"
#include "unit/query/selector/naive_selector.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::below;
using octavo::tests::Random;
namespace json = boost::json;

namespace {

json::value random_scalar(Random& random) {
  static const json::array values =
      json::parse(R"([null,false,true,0,1,2,3,1.0,2.5,-1,"","a","A","ab","b","é"])").as_array();
  return values[below(random, values.size())];
}

json::value random_value(Random& random, int depth = 0) {
  const std::size_t kind = depth > 1 ? 0 : below(random, 6);
  if (kind == 4) {
    json::array array;
    for (std::size_t i = below(random, 4); i > 0; --i) array.push_back(random_value(random, depth + 1));
    return array;
  }
  if (kind == 5) {
    json::object object;
    for (std::size_t i = below(random, 3); i > 0; --i) {
      object[std::string(1, "abc"[below(random, 3)])] = random_value(random, depth + 1);
    }
    return object;
  }
  return random_scalar(random);
}

std::string random_path(Random& random) {
  static const std::vector<std::string> paths = {"a", "b", "c", "a", "b", "a.b", "a.0", "b.c", "_id", "_rev"};
  return paths[below(random, paths.size())];
}

json::value list_of(Random& random, std::size_t limit, auto element) {
  json::array list;
  for (std::size_t i = below(random, limit); i > 0; --i) list.push_back(element());
  return list;
}

json::value random_selector(Random& random, int depth);

json::value random_condition(Random& random, int depth) {
  static const std::vector<std::string> comparisons = {"$lt", "$lte", "$eq", "$ne", "$gte", "$gt"};
  switch (below(random, depth > 3 ? 12 : 17)) {
    case 0:
      return random_scalar(random);
    case 1:
      return naive::single("$in", list_of(random, 4, [&] { return random_value(random); }));
    case 2:
      return naive::single("$nin", list_of(random, 12, [&] { return random_value(random); }));
    case 3:
      return naive::single("$exists", below(random, 2) == 0);
    case 4:
      return naive::single("$type",
                           json::array{"null", "boolean", "number", "string", "array", "object"}[below(random, 6)]);
    case 5:
      return naive::single("$size", below(random, 3));
    case 6:
      return naive::single("$mod", json::array{static_cast<std::int64_t>(below(random, 3)) + 1, 1});
    case 7:
      return naive::single("$beginsWith", json::array{"", "a", "é", "A"}[below(random, 4)]);
    case 8:
      return naive::single("$all", list_of(random, 3, [&] { return random_value(random); }));
    case 12:
      return naive::single("$elemMatch", random_selector(random, depth + 1));
    case 13:
      return naive::single("$allMatch", naive::single("$and", json::array{random_condition(random, depth + 1)}));
    case 14:
      return naive::single("$keyMapMatch", naive::single("$gte", random_scalar(random)));
    case 15: {
      const json::value inner = random_condition(random, depth + 1);
      return inner.is_object() ? json::value(naive::single("$not", inner)) : inner;
    }
    case 16: {
      json::object both = naive::single(comparisons[below(random, 6)], random_value(random));
      both[comparisons[below(random, 6)]] = random_value(random);
      return both;
    }
    default:
      return naive::single(comparisons[below(random, 6)], random_value(random));
  }
}

json::value random_selector(Random& random, int depth) {
  const std::size_t kind = depth > 3 ? 0 : below(random, 10);
  if (kind < 5) return naive::single(random_path(random), random_condition(random, depth + 1));
  if (kind < 7) {
    json::object object;
    for (int i = 0; i < 2; ++i) object[random_path(random)] = random_condition(random, depth + 1);
    return object;
  }
  if (kind == 9) return naive::single("$not", random_selector(random, depth + 1));
  const char* op = kind == 7 ? (below(random, 2) == 0 ? "$and" : "$nor") : "$or";
  return naive::single(op, list_of(random, 4, [&] { return random_selector(random, depth + 1); }));
}

json::object random_document(Random& random) {
  json::object document;
  for (const char* name : {"a", "b", "c"}) {
    if (below(random, 4) != 0) document[name] = random_value(random);
  }
  return document;
}

struct Sample {
  json::object body;
  std::string id, rev;

  /// The document as the naive model sees it.
  json::value whole() const {
    json::object all{{"_id", id}, {"_rev", rev}};
    for (const auto& member : body) all.insert(member);
    return all;
  }
};

Sample random_sample(Random& random) {
  static const std::vector<std::string> ids = {"a", "A", "ab", "b", "é"};
  return {random_document(random), ids[below(random, ids.size())], "1-a"};
}

bool contains(const FieldConstraint& constraint, const json::value* value, bool is_raw) {
  if (value == nullptr) return constraint.may_be_missing;
  const auto order = [&](const json::value& a, const json::value& b) {
    return is_raw ? compare_raw(a, b) : compare(a, b);
  };
  return std::ranges::any_of(constraint.intervals, [&](const Interval& interval) {
    if (interval.lower) {
      const int lower = order(*interval.lower, *value);
      if (lower > 0 || (lower == 0 && !interval.lower_inclusive)) return false;
    }
    if (interval.upper) {
      const int upper = order(*value, *interval.upper);
      if (upper > 0 || (upper == 0 && !interval.upper_inclusive)) return false;
    }
    return true;
  });
}

/// Some element of the array has at `below` what the constraint allows.
bool has_element(const json::value& whole, const FieldPath& array, const FieldPath& below,
                 const FieldConstraint& constraint) {
  if (constraint.may_be_missing) return true;
  const json::value* list = nullptr;
  if (naive::find(whole, array.text(), list) != naive::Finding::found || !list->is_array()) return false;
  return std::ranges::any_of(list->get_array(), [&](const json::value& element) {
    const json::value* value = &element;
    if (!below.empty() && naive::find(element, below.text(), value) != naive::Finding::found) return false;
    return contains(constraint, value, false);
  });
}

}  // namespace

TEST_CASE("random selectors normalise and match as the naive model does") {
  Random random(1);
  DocumentParser parser;
  int matched = 0;
  for (int round = 0; round < 20'000; ++round) {
    const json::value source = random_selector(random, 0);
    const auto selector = Selector::parse(source);
    INFO(json::serialize(source));
    REQUIRE(selector);
    const json::value expected = naive::normalized(source);
    REQUIRE(json::serialize(selector->to_json()) == json::serialize(expected));
    for (int i = 0; i < 4; ++i) {
      const Sample sample = random_sample(random);
      const bool expected_match = naive::matches(expected, sample.whole(), false);
      INFO(json::serialize(sample.whole()));
      REQUIRE(selector->matches(*parser.parse(json::serialize(sample.body)), sample.id, sample.rev) == expected_match);
      matched += expected_match;
    }
  }
  CHECK(matched > 5'000);
}

TEST_CASE("a normalised selector normalises to itself and matches the same") {
  Random random(2);
  DocumentParser parser;
  for (int round = 0; round < 5'000; ++round) {
    const auto selector = Selector::parse(random_selector(random, 0));
    const auto again = Selector::parse(selector->to_json());
    REQUIRE(again);
    REQUIRE(again->to_json() == selector->to_json());
  }
}

TEST_CASE("matching documents lie within the constraints, and exact constraints are the selector") {
  Random random(3);
  int matched = 0, exact = 0;
  for (int round = 0; round < 20'000; ++round) {
    const json::value source = random_selector(random, 0);
    const auto selector = Selector::parse(source);
    DocumentParser parser;
    for (int i = 0; i < 4; ++i) {
      const Sample sample = random_sample(random);
      const json::value whole = sample.whole();
      const bool is_match = selector->matches(*parser.parse(json::serialize(sample.body)), sample.id, sample.rev);
      bool are_all_inside = true, are_all_exact = true;
      for (const FieldPath& path : selector->fields_used()) {
        const FieldConstraint constraint = selector->constraint_for(path);
        const json::value* value = nullptr;
        if (naive::find(whole, path.text(), value) != naive::Finding::found) value = nullptr;
        are_all_inside = are_all_inside && contains(constraint, value, path.is("_id"));
        are_all_exact = are_all_exact && constraint.exact;
      }
      bool have_all_elements = true;
      for (const auto& [array, below] : selector->element_paths()) {
        const auto constraint = selector->constraint_for_elements(array, below, BoundOrder::collation);
        have_all_elements = have_all_elements && has_element(whole, array, below, constraint);
      }
      INFO(json::serialize(source) << " on " << json::serialize(whole));
      if (is_match) REQUIRE(are_all_inside);
      if (is_match) REQUIRE(have_all_elements);
      if (are_all_exact && !selector->needs_whole_document()) REQUIRE(are_all_inside == is_match);
      matched += is_match;
      exact += are_all_exact;
    }
  }
  CHECK(matched > 5'000);
  CHECK(exact > 5'000);
}

TEST_CASE("what a query implies matches wherever the query does") {
  Random random(4);
  int implied = 0;
  for (int round = 0; round < 60'000; ++round) {
    const json::value query_source = random_selector(random, 1);
    const json::value filter_source = random_selector(random, 2);
    const auto query = Selector::parse(query_source);
    const auto filter = Selector::parse(filter_source);
    if (!query->implies(*filter)) continue;
    ++implied;
    DocumentParser parser;
    for (int i = 0; i < 10; ++i) {
      const Sample sample = random_sample(random);
      const auto body = *parser.parse(json::serialize(sample.body));
      INFO(json::serialize(query_source) << " => " << json::serialize(filter_source) << " on "
                                         << json::serialize(sample.whole()));
      if (query->matches(body, sample.id, sample.rev)) REQUIRE(filter->matches(body, sample.id, sample.rev));
    }
  }
  CHECK(implied > 1'000);
}

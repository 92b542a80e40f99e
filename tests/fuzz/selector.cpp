// Selectors: any JSON as a selector, any JSON object as a document. What the planner concludes from a selector must
// agree with matching every document.
#include "query/selector/selector.h"

#include <algorithm>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "fuzz/target.h"
#include "query/collation/collation.h"
#include "query/index/index_entry.h"
#include "query/json/normalize.h"
#include "query/json/parsed_document.h"
#include "query/plan/key_range.h"

namespace {

using namespace octavo;
using namespace octavo::query;
namespace json = boost::json;
using octavo::fuzz::InputReader;
using octavo::fuzz::require;

constexpr std::string_view revision_text = "1-967a00dff5e02add41819138abb3284d";

struct Document {
  std::string text;
  DocumentParser parser;
  simdjson::dom::element root;
  std::string id;
};

bool within(const Interval& interval, const simdjson::dom::element& value, bool raw) {
  const auto order = [&](const json::value& bound) { return raw ? compare_raw(value, bound) : compare(value, bound); };
  if (interval.lower) {
    const int lower = order(*interval.lower);
    if (lower < 0 || (lower == 0 && !interval.lower_inclusive)) return false;
  }
  if (!interval.upper) return true;
  const int upper = order(*interval.upper);
  return upper < 0 || (upper == 0 && interval.upper_inclusive);
}

/// A document that matches lies within what the selector is said to demand of each field.
void check_constraints(const Selector& selector, const Document& document) {
  for (const FieldPath& path : selector.fields_used()) {
    if (path.empty() || path.parts().front().name.starts_with('_')) continue;
    const FieldConstraint constraint = selector.constraint_for(path);
    const FieldLookup found = find_field(document.root, path);
    if (!found) {
      require(constraint.may_be_missing, "a field that must exist exists in every match");
      continue;
    }
    require(std::ranges::any_of(constraint.intervals,
                                [&](const Interval& interval) { return within(interval, found.value, false); }),
            "a match lies within the constraint of each field");
  }
}

/// A document that matches has its index entry in the ranges that would be read.
void check_index(const Selector& selector, const Document& document, std::uint8_t shape) {
  IndexDefinition index;
  for (const FieldPath& path : selector.fields_used()) {
    if (path.empty() || index.fields.size() == 3) continue;
    index.fields.push_back({path, ((shape >> index.fields.size()) & 1) != 0});
  }
  if (index.fields.empty()) return;
  if (shape & 8) std::ranges::reverse(index.fields);
  const IndexBounds bounds = bounds_for(index, selector, {});
  for (std::size_t i = 0; i < bounds.ranges.size(); ++i) {
    require(bounds.ranges[i].begin <= bounds.ranges[i].end, "a range has a beginning before its end");
    if (i > 0) require(bounds.ranges[i - 1].end <= bounds.ranges[i].begin, "ranges are in order and disjoint");
  }
  std::string key, value;
  const auto revision = storage::Revision::parse(revision_text);
  if (!append_index_entry(index, {document.root, document.text, document.id, *revision}, key, value)) return;
  require(
      std::ranges::any_of(bounds.ranges, [&](const KeyRange& range) { return range.begin <= key && key < range.end; }),
      "the index finds what matches");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputReader in(octavo::fuzz::text_of(data, size));
  const std::uint8_t shape = in.byte();
  const auto selector_json = parse_json(in.line(), LargeIntegers::exact);
  if (!selector_json) return 0;
  const auto selector = Selector::parse(*selector_json);
  if (!selector) {
    require(!selector.error().reason.empty() && !mango_error_name(selector.error()).empty(), "a refusal has a reason");
    return 0;
  }
  static Document document;
  document.text.clear();
  std::vector<SpecialField> special;
  if (!normalize_document(in.line(), document.text, special)) return 0;
  const auto root = document.parser.parse(document.text);
  require(root.has_value(), "what is stored can be read");
  document.root = *root;
  document.id = in.line();
  // Ids are UTF-8 and not empty.
  if (document.id.empty() || !simdjson::validate_utf8(document.id)) document.id = "p:id";
  const bool matches = selector->matches(document.root, document.id, revision_text);

  // The selector as it is shown means what the selector means.
  const auto shown = Selector::parse(selector->to_json());
  require(shown.has_value(), "a selector as shown is a selector");
  require(shown->matches(document.root, document.id, revision_text) == matches, "of the same meaning");

  // At the top alone `{}` matches everything; inside it is compared with the value, as in Mango.
  if (selector_json->is_object() && selector_json->get_object().empty()) return 0;
  const json::array twice{*selector_json, *selector_json};
  const auto conjunction = Selector::parse(json::object{{"$and", twice}});
  if (conjunction) {
    require(conjunction->matches(document.root, document.id, revision_text) == matches, "a and a is a");
    require(
        !conjunction->implies(*selector) || !matches || selector->matches(document.root, document.id, revision_text),
        "implied means matched");
  }
  if (matches) {
    check_constraints(*selector, document);
    check_index(*selector, document, shape);
  }
  const auto other_json = parse_json(in.line(), LargeIntegers::exact);
  if (!other_json) return 0;
  const auto other = Selector::parse(*other_json);
  if (!other || other_json->get_object().empty()) return 0;
  const bool other_matches = other->matches(document.root, document.id, revision_text);
  if (selector->implies(*other) && matches) require(other_matches, "what implies a filter is in a partial index");
  const auto either = Selector::parse(json::object{{"$or", json::array{*selector_json, *other_json}}});
  if (either) {
    require(either->matches(document.root, document.id, revision_text) == (matches || other_matches), "or means or");
  }
  const auto both = Selector::parse(json::object{{"$and", json::array{*selector_json, *other_json}}});
  if (both) {
    require(both->matches(document.root, document.id, revision_text) == (matches && other_matches), "and means and");
    if (matches && other_matches) check_index(*both, document, shape);
  }
  return 0;
}

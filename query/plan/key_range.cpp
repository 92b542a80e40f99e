#include "query/plan/key_range.h"

#include <algorithm>
#include <utility>

#include "query/collation/sort_key.h"
#include "query/index/automatic_index.h"
#include "query/json/large_integer.h"
#include "query/json/plain_strings.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

// Greater than every byte that can follow a field's key: the first byte of the next field's key, or of a document id.
constexpr char after_key = '\xFF';

// Bytes of one field: begin <= key < end.
struct Segment {
  std::string begin;
  std::string end;
};

struct Bound {
  std::string key;
  bool exact = true;  ///< no value beyond the bound has the same key
};

Bound bound_of(const IndexDefinition& index, const OrderedField& field, const json::value& value, bool is_upper) {
  Bound bound;
  if (index.automatic) {
    const bool is_empty =
        (value.is_array() && value.get_array().empty()) || (value.is_object() && value.get_object().empty());
    // All arrays have the key of the empty array. None is less than it, so it is exact as an upper bound. The same
    // holds for objects.
    bound.exact = !AutomaticIndex::append_key(bound.key, value, index.automatic->order()) || (is_upper && is_empty);
    if (field.descending) {
      for (char& byte : bound.key) byte = static_cast<char>(~byte);
    }
    return bound;
  }
  const StringOrder order = field.path.is("_id") ? StringOrder::bytes : StringOrder::icu;
  if (field.descending) {
    append_sort_key_descending(bound.key, value, order);
  } else {
    append_sort_key(bound.key, value, order);
  }
  return bound;
}

// The keys of all values begin with a lower byte than this.
char end_of_values(const IndexDefinition& index) {
  return index.has_unplain_entries ? AutomaticIndex::unplain_tag : '\xFF';
}

Segment segment_of(const IndexDefinition& index, const Interval& interval, const OrderedField& field) {
  Segment segment;
  // In the order of the keys: swapped for a descending field.
  const auto& first = field.descending ? interval.upper : interval.lower;
  const bool first_inclusive = field.descending ? interval.upper_inclusive : interval.lower_inclusive;
  const auto& last = field.descending ? interval.lower : interval.upper;
  const bool last_inclusive = field.descending ? interval.lower_inclusive : interval.upper_inclusive;
  if (!index.automatic && interval.is_point()) {  // both bounds have the same key
    segment.begin = bound_of(index, field, *first, field.descending).key;
    segment.end = segment.begin + after_key;
    return segment;
  }
  if (first) {
    Bound bound = bound_of(index, field, *first, field.descending);
    segment.begin = std::move(bound.key);
    if (!first_inclusive && bound.exact) segment.begin += after_key;
  } else {
    // Ascending: after `missing`, whose key is 02. Descending: from the start.
    segment.begin = field.descending ? std::string(1, '\x00') : std::string(1, '\x03');
  }
  if (last) {
    Bound bound = bound_of(index, field, *last, !field.descending);
    segment.end = std::move(bound.key);
    if (last_inclusive || !bound.exact) segment.end += after_key;
  } else {
    // Descending: up to `missing`, whose key is FD.
    segment.end = std::string(1, field.descending ? '\xFD' : end_of_values(index));
  }
  return segment;
}

// Whether a query in the collation's order finds plain strings in the index. It does not in an index of elements: a
// document may have several elements, and so entries both by the bytes of a string and by the collation.
bool reads_unplain(const IndexDefinition& index, const Selector* ordinal) {
  return index.has_unplain_entries && !index.elements && !ordinal;
}

// Whether the interval is a plain string with a key that is not truncated. The bytes of a string that is not plain
// could be truncated to the same key.
bool is_plain_string(const Interval& interval) {
  constexpr std::size_t tag_and_end = 3;
  if (!interval.is_point() || !is_text(*interval.lower)) return false;
  const std::string_view text = interval.lower->get_string();
  return text.size() + tag_and_end <= automatic_key_bytes_max && is_plain_text(text);
}

// For an index by bytes that also has collation entries for the strings that are not plain. If the constraint allows no
// other strings than plain ones, these are kept; otherwise only the type of a string is kept.
FieldConstraint with_plain_strings(FieldConstraint constraint) {
  FieldConstraint plain{{}, false, true};
  FieldConstraint others = constraint;
  others.intervals.clear();
  for (const Interval& interval : constraint.intervals) {
    (is_plain_string(interval) ? plain : others).intervals.push_back(interval);
  }
  // Too many ranges become one wider range, in which a document could have two entries.
  const bool too_many = constraint.intervals.size() + plain.intervals.size() > key_ranges_max;
  if (plain.intervals.empty() || too_many) return without_strings(std::move(constraint));
  others = without_strings(std::move(others));
  const FieldConstraint strings{{Interval{json::value(""), true, json::value(json::array()), false}}, false, true};
  if (!intersect(others, strings, BoundOrder::collation).intervals.empty()) {
    return without_strings(std::move(constraint));
  }
  return unite({others, plain}, BoundOrder::collation);
}

// The entries of strings that are not plain and that the collation considers equal to this plain one.
Segment unplain_segment(const Interval& plain_string) {
  std::string key;
  AutomaticIndex::append_unplain_key(key, std::string_view(plain_string.lower->get_string()));
  return {key, key + after_key};
}

Segment missing_segment(const OrderedField& field) {
  std::string key;
  append_sort_key(key, SortSentinel::missing, field.descending);
  return {key, key + after_key};
}

void merge(std::vector<KeyRange>& ranges) {
  std::erase_if(ranges, [](const KeyRange& range) { return range.begin >= range.end; });
  std::ranges::sort(ranges, {}, &KeyRange::begin);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin <= ranges[kept].end) {
      ranges[kept].end = std::max(ranges[kept].end, ranges[i].end);
    } else {
      if (++kept != i) ranges[kept] = std::move(ranges[i]);
    }
  }
  if (!ranges.empty()) ranges.resize(kept + 1);
}

void describe(const FieldConstraint& constraint, const OrderedField& field, bool& start_open, bool& end_open,
              json::array& start, json::array& end) {
  const auto& intervals = constraint.intervals;
  const auto* low = intervals.empty() || (constraint.may_be_missing) ? nullptr : &intervals.front();
  const auto* high = intervals.empty() ? nullptr : &intervals.back();
  std::optional<json::value> first = low ? low->lower : std::nullopt;
  std::optional<json::value> last = high ? high->upper : std::nullopt;
  if (field.descending) std::swap(first, last);
  if (!start_open) {
    if (first) {
      start.push_back(*first);
    } else {
      start_open = true;
    }
  }
  if (!end_open) {
    if (last) {
      end.push_back(*last);
    } else {
      end_open = true;
    }
  }
}

}  // namespace

FieldConstraint constraint_on(const IndexDefinition& index, const OrderedField& field, const Selector& selector,
                              const Selector* ordinal) {
  const bool by_bytes = index.automatic && index.automatic->order() == StringOrder::bytes;
  const Selector& told = by_bytes && ordinal ? *ordinal : selector;
  const BoundOrder order = by_bytes && ordinal ? BoundOrder::ordinal : BoundOrder::collation;
  FieldConstraint constraint;
  if (index.elements) {
    constraint = told.constraint_for_elements(index.elements->array, index.elements->below, order);
  } else {
    constraint = index.automatic ? told.constraint_for(field.path, order) : told.constraint_for(field.path);
  }
  if (by_bytes && !ordinal) {
    constraint = reads_unplain(index, ordinal) ? with_plain_strings(std::move(constraint))
                                               : without_strings(std::move(constraint));
  }
  if (index.automatic) constraint.exact = false;
  return constraint;
}

IndexBounds bounds_for(const IndexDefinition& index, const Selector& selector,
                       const std::vector<OrderedField>& must_exist, const Selector* ordinal) {
  IndexBounds bounds;
  std::vector<std::string> prefixes{std::string()};
  std::vector<KeyRange> ranges;
  bool open = true;      // further columns may narrow the ranges
  bool constant = true;  // all columns so far have one value
  bool start_open = false;
  bool end_open = false;

  for (const OrderedField& field : index.fields) {
    FieldConstraint constraint = constraint_on(index, field, selector, ordinal);
    const bool sorted_by = std::ranges::any_of(must_exist, [&](const auto& other) { return other.path == field.path; });
    if (sorted_by || field.path.is("_id") || field.path.is("_rev")) constraint.may_be_missing = false;
    if (constraint.is_empty()) {
      IndexBounds nothing;
      nothing.columns_used = 1;
      nothing.column_exact = {true};
      nothing.column_exists = {true};
      return nothing;
    }
    if (constraint.is_everything() && constraint.may_be_missing) break;
    describe(constraint, field, start_open, end_open, bounds.start_key, bounds.end_key);

    std::vector<Segment> segments;
    for (const Interval& interval : constraint.intervals) {
      segments.push_back(segment_of(index, interval, field));
      if (reads_unplain(index, ordinal) && is_plain_string(interval)) segments.push_back(unplain_segment(interval));
    }
    if (constraint.may_be_missing) segments.push_back(missing_segment(field));
    bool exact = constraint.exact && !constraint.may_be_missing;
    const bool points = std::ranges::all_of(constraint.intervals, &Interval::is_point);
    bool stop = !points;
    if (prefixes.size() * segments.size() > key_ranges_max) {
      // Too many combinations: use one range from the first to the last, and check each document.
      const auto first = std::ranges::min(segments, {}, &Segment::begin).begin;
      const auto last = std::ranges::max(segments, {}, &Segment::end).end;
      segments = {{first, last}};
      exact = false;
      stop = true;
    }
    ++bounds.columns_used;
    bounds.column_exact.push_back(exact);
    bounds.column_exists.push_back(!constraint.may_be_missing);
    const bool one_value = points && constraint.intervals.size() + (constraint.may_be_missing ? 1 : 0) == 1;
    bounds.one_value = (bounds.columns_used == 1 || bounds.one_value) && one_value;
    constant = constant && one_value && segments.size() == 1;
    if (constant) ++bounds.point_columns;

    if (stop) {
      for (const std::string& prefix : prefixes) {
        for (const Segment& segment : segments) ranges.push_back({prefix + segment.begin, prefix + segment.end});
      }
      open = false;
      break;
    }
    std::vector<std::string> longer;
    longer.reserve(prefixes.size() * segments.size());
    for (const std::string& prefix : prefixes) {
      // A point's segment reaches from its key to the key followed by after_key: the key is the prefix.
      for (const Segment& segment : segments) longer.push_back(prefix + segment.begin);
    }
    prefixes = std::move(longer);
  }
  if (open) {
    for (const std::string& prefix : prefixes) {
      ranges.push_back({prefix, prefix + (prefix.empty() ? end_of_values(index) : after_key)});
    }
  }
  merge(ranges);
  bounds.ranges = std::move(ranges);
  bounds.end_key.push_back("<MAX>");
  return bounds;
}

}  // namespace octavo::query

#include "query/advice/query_outline.h"

#include <atomic>
#include <string>
#include <utility>

#include "query/json/large_integer.h"
#include "query/selector/selector.h"

namespace octavo::query::advice {

namespace {

namespace json = boost::json;

/// Makes values that stand for others. Lower bounds are less than single values, and these less than upper bounds, in
/// the order of the collation and in that of bytes; single values differ from each other.
class Placeholders {
 public:
  json::value lower(const json::value& value) { return of_type(value, 0, "a"); }
  json::value upper(const json::value& value) { return of_type(value, 1'000'000'000, "z"); }
  json::value single(const json::value& value) {
    ++count_;
    std::string text = "m";
    for (std::size_t rest = count_, digit = 0; digit < 4; ++digit, rest /= letters) {
      text += static_cast<char>('a' + rest % letters);
    }
    return of_type(value, 1'000 + static_cast<std::int64_t>(count_), text);
  }
  std::size_t count() const { return count_; }

 private:
  static constexpr std::size_t letters = 26;

  static json::value of_type(const json::value& value, std::int64_t number, const std::string& text) {
    switch (value.kind()) {
      case json::kind::null:
        return nullptr;
      case json::kind::bool_:
        return true;
      case json::kind::int64:
      case json::kind::uint64:
      case json::kind::double_:
        return number;
      case json::kind::string:
        if (!is_text(value)) return number;  // an integer of any size
        return json::value(text);
      case json::kind::array:
        return json::array{json::value(text)};
      case json::kind::object:
        return json::object{{"m", text}};
    }
    return nullptr;
  }

  std::size_t count_ = 0;
};

/// Copies a selector's tree without its values.
class Stripper {
 public:
  /// False: it is too large.
  bool strip(const SelectorNode& node, SelectorNode& out) {
    if (++conditions_ > outline_conditions_max) return false;
    out.kind = node.kind;
    out.path = node.path;
    out.op = node.op;
    out.negated = node.negated;
    out.is_raw_order = node.is_raw_order;
    if (node.kind == SelectorNode::Kind::comparison && !strip_argument(node, out)) return false;
    out.children.reserve(node.children.size());
    for (const SelectorNode& child : node.children) {
      if (!strip(child, out.children.emplace_back())) return false;
    }
    return true;
  }

  std::size_t bytes() const {
    // Nodes, paths and their parts, and the list of fields.
    constexpr std::size_t bytes_by_condition = 512;
    constexpr std::size_t bytes_by_value = 48;
    return bytes_by_condition * conditions_ + bytes_by_value * values_.count();
  }

 private:
  bool strip_argument(const SelectorNode& node, SelectorNode& out) {
    switch (node.op) {
      case Operator::less:
      case Operator::less_equal:
        out.argument = values_.upper(node.argument);
        return true;
      case Operator::greater_equal:
      case Operator::greater:
        out.argument = values_.lower(node.argument);
        return true;
      case Operator::equal:
      case Operator::not_equal:
      case Operator::begins_with:
        out.argument = values_.single(node.argument);
        return true;
      case Operator::in:
      case Operator::not_in:
      case Operator::all:
        return strip_list(node.argument.get_array(), out.argument.emplace_array());
      case Operator::exists:  // these are words of the language, not values of documents
      case Operator::type:
        out.argument = node.argument;
        return true;
      case Operator::size:
        out.argument = 1;
        return true;
      case Operator::modulo:
        out.argument = json::array{2, 1};
        return true;
      case Operator::regex:  // never matched: no document is tested with an outline
        out.argument = "m";
        return true;
      case Operator::element_match:
      case Operator::all_match:
      case Operator::key_map_match:
        return true;
    }
    return false;
  }

  bool strip_list(const json::array& list, json::array& out) {
    if (values_.count() + list.size() > outline_values_max) return false;
    for (const json::value& value : list) out.push_back(values_.single(value));
    return true;
  }

  std::size_t conditions_ = 0;
  Placeholders values_;
};

std::optional<Selector> stripped(const Selector& selector, std::size_t& bytes) {
  Stripper stripper;
  SelectorNode root;
  if (!stripper.strip(selector.root(), root)) return std::nullopt;
  bytes += stripper.bytes();
  return Selector::of(std::move(root));
}

std::atomic<std::size_t>& outline_bytes() {
  static std::atomic<std::size_t> bytes{0};
  return bytes;
}

}  // namespace

std::optional<PlanRequest> without_values(const PlanRequest& request, std::size_t& bytes) {
  bytes += sizeof(QueryOutline);
  std::optional<Selector> selector = stripped(request.selector, bytes);
  if (!selector) return std::nullopt;
  PlanRequest outline;
  outline.selector = *std::move(selector);
  if (request.ordinal) {
    outline.ordinal = stripped(*request.ordinal, bytes);
    if (!outline.ordinal) return std::nullopt;
  }
  const std::size_t named = request.sort.size() + request.fields.size();
  if (named > 4 * outline_conditions_max) return std::nullopt;
  constexpr std::size_t bytes_by_name = 160;
  bytes += bytes_by_name * named;
  outline.matches_nothing = request.matches_nothing;
  outline.sort = request.sort;
  outline.sort_is_ordinal = request.sort_is_ordinal;
  outline.sort_keeps_missing = request.sort_keeps_missing;
  outline.matches_needed = request.matches_needed;
  outline.is_aggregated = request.is_aggregated;
  outline.fields = request.fields;
  outline.use_index = request.use_index;
  outline.allow_fallback = request.allow_fallback;
  outline.strict = request.strict;
  return outline;
}

std::shared_ptr<const QueryOutline> keep_outline(QueryOutline outline) {
  if (!outline.plan) outline.bytes = 0;
  const std::size_t before = outline_bytes().fetch_add(outline.bytes, std::memory_order_relaxed);
  if (before + outline.bytes > outline_bytes_max) {
    outline_bytes().fetch_sub(outline.bytes, std::memory_order_relaxed);
    outline.plan.reset();
    outline.is_left_out = true;
    outline.bytes = 0;
  }
  const std::size_t bytes = outline.bytes;
  const QueryOutline* kept = nullptr;
  try {
    kept = new QueryOutline(std::move(outline));
  } catch (...) {
    outline_bytes().fetch_sub(bytes, std::memory_order_relaxed);
    throw;
  }
  return {kept, [bytes](const QueryOutline* one) {
            outline_bytes().fetch_sub(bytes, std::memory_order_relaxed);
            delete one;
          }};
}

}  // namespace octavo::query::advice

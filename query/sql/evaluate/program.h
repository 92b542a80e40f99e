#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/function_ref.h"
#include "query/sql/evaluate/evaluation.h"
#include "query/sql/syntax/syntax_tree.h"

/// Compiled queries and subqueries: names are resolved to numbers, functions to addresses, parameters to values.
namespace octavo::query::sql {

/// A source of FROM, which is iterated for each row of the sources before it.
struct CompiledSource {
  NodePtr value;
  bool iterates = false;     ///< binds each element of the array; otherwise the value itself, once, if defined
  bool flattens = false;     ///< the elements are those of the array elements of `value` (IN over a subquery)
  bool is_distinct = false;  ///< skips elements that are equal to one of another item
  std::size_t slot = 0;
};

enum class AggregateKind : std::uint8_t { count, count_if, sum, average, minimum, maximum, make_list, make_set };

struct Aggregate {
  AggregateKind kind;
  NodePtr argument;
};

struct ProjectedItem {
  std::string name;
  std::string key;  ///< `"name":`
  NodePtr value;
};

struct SortItem {
  NodePtr value;
  bool descending = false;
};

struct Program {
  Query::Selection selection = Query::Selection::star;
  bool distinct = false;
  bool grouped = false;       ///< has aggregates or GROUP BY
  bool reads_items = false;   ///< FROM begins with the database's items
  bool projects_row = false;  ///< SELECT * or SELECT VALUE of the unchanged item
  /// The rows have the form that clients merge by ORDER BY: `_rid`, `orderByItems`, `payload` (client_merge_plan.h).
  bool is_merged_by_client = false;
  std::vector<CompiledSource> sources;  ///< `is_distinct` only in the first one of the outermost program
  NodePtr where;
  std::vector<NodePtr> group_by;
  std::vector<Aggregate> aggregates;
  std::vector<ProjectedItem> items;  ///< one item without a name for VALUE and `*`
  std::vector<SortItem> order_by;
  std::uint64_t offset = 0;
  std::uint64_t limit = UINT64_MAX;

  // These are for the whole query, and set in its outermost program.
  std::vector<std::string> root_names;  ///< top-level properties of the items
  std::size_t slots = 0;
  std::vector<NodePtr> computed;  ///< expressions of the named computed properties, by number; null for others

  /// Whether FROM is the distinct results of a subquery over all items.
  bool has_distinct_source() const { return !sources.empty() && sources.front().is_distinct; }
  /// The projection of the bound values; undefined if SELECT VALUE has no value.
  Value project(Evaluation& evaluation) const;
  /// Appends the projection as JSON text; false: it is undefined, nothing was appended.
  bool append_projection(Evaluation& evaluation, std::string& out) const;
};

/// The results of a subquery with DISTINCT over all items: decides which of several equal results represents them.
class DistinctElements {
 public:
  /// Whether `element` represents those equal to it: it is the first, or was so in an earlier call. Also false if the
  /// evaluation failed.
  bool admits(Evaluation& evaluation, const Value& element, std::uint64_t position);
  /// The sort key of the element that was admitted last, in the order of all values.
  const std::string& key() const { return key_; }
  std::size_t bytes() const { return bytes_; }
  void clear();

 private:
  struct Holder {
    std::string document_id;
    std::uint64_t position;
  };
  std::unordered_map<std::string, Holder> holders_;
  std::size_t bytes_ = 0;
  std::string key_;
};

/// Walks the combinations of a FROM's sources, the last source fastest.
class FromIterator {
 public:
  /// `rewinds`: values made for one combination are freed when the next one is bound, so memory does not grow with the
  /// combinations. Otherwise all are kept. `distinct` is for the source with `is_distinct`, and must outlive the
  /// iterator.
  FromIterator(const std::vector<CompiledSource>& sources, bool rewinds, DistinctElements* distinct = nullptr)
      : sources_(sources), rewinds_(rewinds), distinct_(distinct) {}

  /// Starts again with the bound item (or outer row), after the combination at `positions`, if any.
  void begin(std::span<const std::uint64_t> positions = {});
  /// Binds the slots to the next combination; false at the end or if the evaluation failed.
  bool next(Evaluation& evaluation);
  /// The current position: one number per source.
  std::vector<std::uint64_t> positions() const;

 private:
  struct Level {
    Elements elements;
    Elements inner;  ///< of the array that is being flattened
    bool has_inner = false;
    bool single_left = false;
    Value single;
    std::uint64_t position = 0;  ///< of the element that is bound, from 1
    Arena::Mark before;          ///< the arena before the element
  };
  void open(Evaluation& evaluation, std::size_t level);
  bool advance(Evaluation& evaluation, std::size_t level);
  bool advance_element(Evaluation& evaluation, std::size_t level);

  const std::vector<CompiledSource>& sources_;
  bool rewinds_;
  DistinctElements* distinct_;
  std::vector<Level> levels_;
  std::vector<std::uint64_t> resume_;
  bool begun_ = false;
  bool once_ = false;  ///< no sources: the only row is still to come
};

/// Runs a subquery for the bound values. Calls `result` with each result in order until it returns false. False: the
/// evaluation failed.
bool run_subquery(const Program& program, Evaluation& evaluation, FunctionRef<bool(const Value&)> result);

}  // namespace octavo::query::sql

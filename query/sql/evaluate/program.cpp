#include "query/sql/evaluate/program.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "query/sql/evaluate/groups.h"

namespace octavo::query::sql {

// --- projection ---

Value Program::project(Evaluation& evaluation) const {
  if (selection != Query::Selection::list) return items[0].value->evaluate(evaluation);
  Member* members = evaluation.members(items.size());
  if (!members) return {};
  std::size_t count = 0;
  for (const ProjectedItem& item : items) {
    const Value value = item.value->evaluate(evaluation);
    if (!value.is_undefined()) members[count++] = {item.name, value};
  }
  return Value::object_of(members, count);
}

bool Program::append_projection(Evaluation& evaluation, std::string& out) const {
  if (projects_row) {
    evaluation.row.shape().append_row(evaluation.row.document(), out);
    return true;
  }
  if (selection != Query::Selection::list) {
    const Value value = items[0].value->evaluate(evaluation);
    return !value.is_undefined() && evaluation.append_json(value, out, out.size());
  }
  const std::size_t start = out.size();
  out += '{';
  bool first = true;
  for (const ProjectedItem& item : items) {
    const Value value = item.value->evaluate(evaluation);
    if (value.is_undefined()) continue;
    if (!first) out += ',';
    first = false;
    out += item.key;
    if (!evaluation.append_json(value, out, start)) return false;
  }
  out += '}';
  return true;
}

// --- FROM ---

void FromIterator::begin(std::span<const std::uint64_t> positions) {
  levels_.assign(sources_.size(), {});
  resume_.assign(positions.begin(), positions.end());
  if (resume_.size() != sources_.size()) resume_.clear();
  begun_ = false;
  once_ = sources_.empty();
}

void FromIterator::open(Evaluation& evaluation, std::size_t number) {
  Level& level = levels_[number];
  const CompiledSource& source = sources_[number];
  const Value value = source.value->evaluate(evaluation);
  level.position = 0;
  level.has_inner = false;
  level.single_left = false;
  if (!source.iterates) {
    level.single = value;
    level.single_left = !value.is_undefined();
  } else {
    level.elements = value.is_array() ? Elements(value) : Elements();
  }
  level.before = evaluation.arena.mark();
}

bool DistinctElements::admits(Evaluation& evaluation, const Value& element, std::uint64_t position) {
  constexpr std::size_t map_bytes = 64;
  key_.clear();
  if (!evaluation.append_order_key(key_, element)) return false;
  const std::string_view id = evaluation.row.document().id;
  const auto [holder, is_new] = holders_.try_emplace(key_, Holder{std::string(id), position});
  if (is_new) bytes_ += key_.size() + id.size() + sizeof(Holder) + map_bytes;
  return holder->second.document_id == id && holder->second.position == position;
}

void DistinctElements::clear() {
  holders_.clear();
  bytes_ = 0;
}

bool FromIterator::advance(Evaluation& evaluation, std::size_t number) {
  const CompiledSource& source = sources_[number];
  while (advance_element(evaluation, number)) {
    if (!source.is_distinct || !distinct_) return true;
    if (distinct_->admits(evaluation, evaluation.slots[source.slot], levels_[number].position)) return true;
  }
  return false;
}

// Binds the next element of a level.
bool FromIterator::advance_element(Evaluation& evaluation, std::size_t number) {
  Level& level = levels_[number];
  const CompiledSource& source = sources_[number];
  if (!evaluation.step()) return false;
  if (!source.iterates) {
    if (!level.single_left) return false;
    level.single_left = false;
    evaluation.slots[source.slot] = level.single;
    ++level.position;
    return true;
  }
  if (rewinds_) evaluation.arena.rewind(level.before);
  Value element;
  if (!source.flattens) {
    if (!level.elements.next(element, evaluation.arena)) return false;
  } else {
    while (!level.has_inner || !level.inner.next(element, evaluation.arena)) {
      Value array;
      if (!level.elements.next(array, evaluation.arena) || !evaluation.step()) return false;
      level.inner = array.is_array() ? Elements(array) : Elements();
      level.has_inner = true;
    }
  }
  evaluation.slots[source.slot] = element;
  ++level.position;
  return evaluation.work(element.bytes());
}

bool FromIterator::next(Evaluation& evaluation) {
  if (sources_.empty()) return std::exchange(once_, false) && !evaluation.failed();
  std::size_t number = sources_.size() - 1;
  if (!begun_) {
    begun_ = true;
    number = 0;
    open(evaluation, 0);
    if (!resume_.empty()) {
      // Goes to the combination that was the last one, and continues after it.
      while (number < sources_.size()) {
        bool there = true;
        while (there && levels_[number].position < resume_[number]) there = advance(evaluation, number);
        if (!there) break;
        if (++number < sources_.size()) open(evaluation, number);
      }
      if (number == sources_.size()) --number;
      resume_.clear();
    }
  }
  while (!evaluation.failed()) {
    if (advance(evaluation, number)) {
      if (++number == sources_.size()) return true;
      open(evaluation, number);
    } else if (number-- == 0) {
      return false;
    }
  }
  return false;
}

std::vector<std::uint64_t> FromIterator::positions() const {
  std::vector<std::uint64_t> positions;
  for (const Level& level : levels_) positions.push_back(level.position);
  return positions;
}

// --- subqueries ---

namespace {

struct SubqueryRow {
  std::string key;
  Value value;
};

/// Applies DISTINCT, then OFFSET and LIMIT, to the results of a subquery.
class SubqueryOutput {
 public:
  SubqueryOutput(const Program& program, Evaluation& evaluation, FunctionRef<bool(const Value&)> result)
      : program_(program),
        evaluation_(evaluation),
        result_(result),
        seen_bytes_(evaluation),
        skip_(program.offset),
        left_(program.limit) {}

  bool wants_more() const { return left_ > 0; }
  /// False: no more results are needed.
  bool add(const Value& value) {
    if (value.is_undefined()) return true;
    if (program_.distinct) {
      std::string key;
      if (!evaluation_.append_order_key(key, value)) return false;
      const std::size_t bytes = key.size() + set_entry_bytes;
      if (!seen_.insert(std::move(key)).second) return true;
      if (!seen_bytes_.add(bytes)) return false;
    }
    if (skip_ > 0) {
      --skip_;
      return true;
    }
    if (left_ == 0) return false;
    --left_;
    return result_(value) && left_ > 0;
  }

 private:
  static constexpr std::size_t set_entry_bytes = 64;

  const Program& program_;
  Evaluation& evaluation_;
  FunctionRef<bool(const Value&)> result_;
  std::unordered_set<std::string> seen_;
  HeldBytes seen_bytes_;
  std::uint64_t skip_;
  std::uint64_t left_;
};

bool is_filtered_out(const Program& program, Evaluation& evaluation) {
  return program.where && !program.where->evaluate(evaluation).is_true();
}

bool run_grouped(const Program& program, Evaluation& evaluation, SubqueryOutput& output) {
  Groups groups(program);
  HeldBytes held(evaluation);
  FromIterator from(program.sources, false);
  from.begin();
  while (from.next(evaluation)) {
    if (is_filtered_out(program, evaluation)) continue;
    const std::size_t before = groups.bytes();
    if (!groups.add_row(evaluation) || !held.add(groups.bytes() - before)) return false;
  }
  if (evaluation.failed()) return false;
  for (const auto& [key, group] : groups.all()) {
    groups.select(evaluation, group);
    const bool more = output.add(program.project(evaluation));
    groups.unselect(evaluation);
    if (!more) break;
  }
  return !evaluation.failed();
}

bool run_ordered(const Program& program, Evaluation& evaluation, SubqueryOutput& output) {
  std::vector<SubqueryRow> rows;
  HeldBytes held(evaluation);
  FromIterator from(program.sources, false);
  from.begin();
  while (from.next(evaluation)) {
    if (is_filtered_out(program, evaluation)) continue;
    SubqueryRow row;
    bool sortable = true;
    for (const SortItem& item : program.order_by) {
      const Value value = item.value->evaluate(evaluation);
      sortable = sortable && !(value.is_undefined() && program.order_by.size() == 1);
      item.descending ? evaluation.append_order_key_descending(row.key, value)
                      : evaluation.append_order_key(row.key, value);
    }
    if (!sortable) continue;
    row.value = program.project(evaluation);
    if (evaluation.failed() || !held.add(sizeof(row) + row.key.size())) return false;
    rows.push_back(std::move(row));
  }
  if (evaluation.failed()) return false;
  std::ranges::stable_sort(rows, {}, &SubqueryRow::key);
  for (const SubqueryRow& row : rows) {
    if (!output.add(row.value)) break;
  }
  return !evaluation.failed();
}

}  // namespace

bool run_subquery(const Program& program, Evaluation& evaluation, FunctionRef<bool(const Value&)> result) {
  SubqueryOutput output(program, evaluation, result);
  if (!output.wants_more()) return true;
  if (program.grouped) return run_grouped(program, evaluation, output);
  if (!program.order_by.empty()) return run_ordered(program, evaluation, output);
  FromIterator from(program.sources, false);
  from.begin();
  while (from.next(evaluation)) {
    if (is_filtered_out(program, evaluation)) continue;
    if (!output.add(program.project(evaluation))) break;
  }
  return !evaluation.failed();
}

}  // namespace octavo::query::sql

#include "query/sql/evaluate/groups.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace octavo::query::sql {

std::size_t Accumulator::add(Evaluation& evaluation, const Value& value) {
  if (value.is_undefined()) return 0;
  switch (kind_) {
    case AggregateKind::count:
      ++count_;
      return 0;
    case AggregateKind::count_if:
      if (value.is_true()) ++count_;
      return 0;
    case AggregateKind::sum:
    case AggregateKind::average:
      if (!value.is_number()) impossible_ = true;
      if (impossible_) return 0;
      sum_ += value.number();
      ++count_;
      return 0;
    case AggregateKind::minimum:
    case AggregateKind::maximum: {
      if (value.is_array() || value.is_object()) impossible_ = true;
      if (impossible_) return 0;
      std::string key;
      if (!evaluation.append_order_key(key, value)) return 0;
      if (count_++ > 0 && (kind_ == AggregateKind::minimum ? key >= best_key_ : key <= best_key_)) return 0;
      const std::size_t before = best_key_.size() + text_.size();
      best_key_ = std::move(key);
      text_.clear();
      evaluation.append_json(value, text_);
      const std::size_t after = best_key_.size() + text_.size();
      return after > before ? after - before : 0;
    }
    case AggregateKind::make_list:
    case AggregateKind::make_set: {
      std::size_t taken = 0;
      if (kind_ == AggregateKind::make_set) {
        std::string key;
        if (!evaluation.append_order_key(key, value)) return 0;
        taken += key.size() + 64;
        if (!seen_.insert(std::move(key)).second) return 0;
      }
      const std::size_t before = text_.size();
      if (!text_.empty()) text_ += ',';
      evaluation.append_json(value, text_, before);
      return taken + text_.size() - before;
    }
  }
  return 0;
}

Value Accumulator::result(Evaluation& evaluation) const {
  if (impossible_) return {};
  switch (kind_) {
    case AggregateKind::count:
    case AggregateKind::count_if:
      return Value::of(static_cast<double>(count_));
    case AggregateKind::sum:
      return Value::of(sum_);
    case AggregateKind::average:
      return count_ == 0 ? Value() : Value::of(sum_ / static_cast<double>(count_));
    case AggregateKind::minimum:
    case AggregateKind::maximum: {
      if (count_ == 0) return {};
      const Value copy = evaluation.text(text_);
      return Value::read(copy.string(), evaluation.arena);
    }
    case AggregateKind::make_list:
    case AggregateKind::make_set: {
      const Value copy = evaluation.text("[" + text_ + "]");
      return copy.is_undefined() ? copy : Value::read(copy.string(), evaluation.arena);
    }
  }
  return {};
}

// --- groups ---

Groups::Groups(const Program& program) : program_(program) {
  if (program.group_by.empty()) groups_.emplace(std::string(), make_group());
}

Groups::Group Groups::make_group() const {
  Group group;
  group.accumulators.reserve(program_.aggregates.size());
  for (const Aggregate& aggregate : program_.aggregates) group.accumulators.emplace_back(aggregate.kind);
  return group;
}

bool Groups::append_key(Evaluation& evaluation, std::string& out) const {
  return std::ranges::all_of(program_.group_by, [&](const NodePtr& expression) {
    return evaluation.append_order_key(out, expression->evaluate(evaluation));
  });
}

bool Groups::add_row(Evaluation& evaluation, std::size_t groups_max, const std::string* after) {
  // Evaluates all arguments first: a row is counted completely or (if the evaluation fails) not at all.
  arguments_.clear();
  for (const Aggregate& aggregate : program_.aggregates) arguments_.push_back(aggregate.argument->evaluate(evaluation));
  if (evaluation.failed()) return false;
  auto found = groups_.begin();
  if (!program_.group_by.empty()) {
    std::string key;
    if (!append_key(evaluation, key)) return false;
    if (after && key <= *after) return true;
    found = groups_.lower_bound(key);
    if (found == groups_.end() || found->first != key) {
      if (groups_.size() >= groups_max) {
        if (found == groups_.end()) return true;
        const auto last = std::prev(groups_.end());
        bytes_ -= last->second.bytes;
        if (found == last) found = groups_.end();
        groups_.erase(last);
      }
      Group group = make_group();
      for (const NodePtr& expression : program_.group_by) {
        const Value value = expression->evaluate(evaluation);
        auto& text = group.values.emplace_back();
        if (!value.is_undefined() && !evaluation.append_json(value, text)) return false;
        group.bytes += text.size();
      }
      group.bytes += key.size() + sizeof(Group) + 64 + program_.aggregates.size() * sizeof(Accumulator);
      bytes_ += group.bytes;
      found = groups_.emplace_hint(found, std::move(key), std::move(group));
    }
  }
  Group& group = found->second;
  evaluation.set_interruptible(false);
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const std::size_t taken = group.accumulators[i].add(evaluation, arguments_[i]);
    group.bytes += taken;
    bytes_ += taken;
  }
  evaluation.set_interruptible(true);
  return !evaluation.failed();
}

void Groups::select(Evaluation& evaluation, const Group& group) const {
  if (evaluation.group != this) outer_ = evaluation.group;
  selected_ = &group;
  evaluation.group = this;
}

Value Groups::aggregate(Evaluation& evaluation, std::size_t number) const {
  return selected_->accumulators[number].result(evaluation);
}

Value Groups::key(Evaluation& evaluation, std::size_t number) const {
  const std::string& text = selected_->values[number];
  if (text.empty()) return {};
  const Value copy = evaluation.text(text);
  return copy.is_undefined() ? copy : Value::read(copy.string(), evaluation.arena);
}

}  // namespace octavo::query::sql

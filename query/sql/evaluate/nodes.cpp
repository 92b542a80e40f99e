#include "query/sql/evaluate/nodes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "query/sql/evaluate/groups.h"
#include "query/sql/evaluate/like.h"

namespace octavo::query::sql {

namespace {

// Like JavaScript: the lowest 32 bits of the whole number.
std::int32_t to_int32(double number) {
  if (!std::isfinite(number)) return 0;
  const double whole = std::fmod(std::trunc(number), 4294967296.0);
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(whole)));
}

Value arithmetic(SqlOperator op, double a, double b) {
  switch (op) {
    case SqlOperator::add:
      return Value::of(a + b);
    case SqlOperator::subtract:
      return Value::of(a - b);
    case SqlOperator::multiply:
      return Value::of(a * b);
    case SqlOperator::divide:
      return Value::of(a / b);
    case SqlOperator::modulo:
      return Value::of(std::fmod(a, b));
    default:
      break;
  }
  const std::int32_t x = to_int32(a);
  const std::int32_t y = to_int32(b);
  const auto shift = static_cast<unsigned>(y) & 31U;
  switch (op) {
    case SqlOperator::bit_and:
      return Value::of(static_cast<double>(x & y));
    case SqlOperator::bit_or:
      return Value::of(static_cast<double>(x | y));
    case SqlOperator::bit_xor:
      return Value::of(static_cast<double>(x ^ y));
    case SqlOperator::shift_left:
      return Value::of(static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(x) << shift)));
    case SqlOperator::shift_right:
      return Value::of(static_cast<double>(x >> shift));
    case SqlOperator::shift_right_zero:
      return Value::of(static_cast<double>(static_cast<std::uint32_t>(x) >> shift));
    default:
      return {};
  }
}

Value negate_if(bool negated, bool value) {
  return Value::of(value != negated);
}

}  // namespace

Value Path::evaluate(Evaluation& evaluation) const {
  Value value = base_->evaluate(evaluation);
  for (const PathStep& step : steps_) {
    if (value.is_undefined() || !evaluation.work(value.bytes())) return {};
    value = step.index ? value.element(*step.index, evaluation.arena) : value.member(step.name, evaluation.arena);
  }
  return value;
}

Value Index::evaluate(Evaluation& evaluation) const {
  const Value base = base_->evaluate(evaluation);
  const Value index = index_->evaluate(evaluation);
  if (!evaluation.work(base.bytes())) return {};
  if (index.is_string()) return base.member(index.string(), evaluation.arena);
  const auto number = index.integer();
  return number && *number >= 0 ? base.element(static_cast<std::uint64_t>(*number), evaluation.arena) : Value();
}

Value ArrayMaker::evaluate(Evaluation& evaluation) const {
  Value* items = evaluation.values(items_.size());
  if (!items) return {};
  std::size_t count = 0;
  for (const NodePtr& item : items_) {
    const Value value = item->evaluate(evaluation);
    if (!value.is_undefined()) items[count++] = value;
  }
  return Value::array_of(items, count);
}

Value ObjectMaker::evaluate(Evaluation& evaluation) const {
  Member* members = evaluation.members(values_.size());
  if (!members) return {};
  std::size_t count = 0;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Value value = values_[i]->evaluate(evaluation);
    if (!value.is_undefined()) members[count++] = {names_[i], value};
  }
  return Value::object_of(members, count);
}

Value Unary::evaluate(Evaluation& evaluation) const {
  const Value value = operand_->evaluate(evaluation);
  if (op_ == SqlOperator::logical_not) return value.is_boolean() ? Value::of(!value.boolean()) : Value();
  if (!value.is_number()) return {};
  switch (op_) {
    case SqlOperator::minus:
      return Value::of(-value.number());
    case SqlOperator::bit_not:
      return Value::of(static_cast<double>(~to_int32(value.number())));
    default:
      return Value::of(value.number());
  }
}

Value Binary::evaluate(Evaluation& evaluation) const {
  const Value left = left_->evaluate(evaluation);
  const Value right = right_->evaluate(evaluation);
  switch (op_) {
    case SqlOperator::equal:
    case SqlOperator::not_equal:
      if (left.is_undefined() || right.is_undefined()) return {};
      return negate_if(op_ == SqlOperator::not_equal, evaluation.equal(left, right));
    case SqlOperator::less:
    case SqlOperator::less_equal:
    case SqlOperator::greater:
    case SqlOperator::greater_equal: {
      const auto order = compare_scalars(left, right);
      if (!order) return {};
      switch (op_) {
        case SqlOperator::less:
          return Value::of(*order < 0);
        case SqlOperator::less_equal:
          return Value::of(*order <= 0);
        case SqlOperator::greater:
          return Value::of(*order > 0);
        default:
          return Value::of(*order >= 0);
      }
    }
    case SqlOperator::concat: {
      if (!left.is_string() || !right.is_string()) return {};
      const std::string_view a = left.string();
      const std::string_view b = right.string();
      char* buffer = evaluation.text_space(a.size() + b.size());
      if (!buffer) return {};
      std::ranges::copy(b, std::ranges::copy(a, buffer).out);
      return Value::of(std::string_view(buffer, a.size() + b.size()));
    }
    default:
      if (!left.is_number() || !right.is_number()) return {};
      return arithmetic(op_, left.number(), right.number());
  }
}

Value Logical::evaluate(Evaluation& evaluation) const {
  bool unknown = false;
  for (const NodePtr& operand : operands_) {
    const Value value = operand->evaluate(evaluation);
    if (!value.is_boolean()) {
      unknown = true;
    } else if (value.boolean() == stops_at_) {
      return value;
    }
  }
  return unknown ? Value() : Value::of(!stops_at_);
}

// --- IN, BETWEEN, LIKE ---

namespace {
constexpr std::size_t items_compared_max = 8;
// Keys of constants are kept as long as the query; parameters may be large, and be named many times.
constexpr std::size_t constant_keys_bytes_max = 1024 * 1024;
}  // namespace

In::In(NodePtr needle, std::vector<NodePtr> items, bool negated)
    : needle_(std::move(needle)), items_(std::move(items)), negated_(negated) {
  if (items_.size() <= items_compared_max) return;
  std::unordered_set<std::string> keys;
  std::size_t bytes_left = constant_keys_bytes_max;
  for (const NodePtr& item : items_) {
    const auto* constant = dynamic_cast<const Constant*>(item.get());
    if (!constant || constant->value().bytes() > bytes_left) return;
    std::string key;
    if (!append_order_key(key, constant->value(), bytes_left)) return;
    bytes_left -= std::min(bytes_left, key.size());
    keys.insert(std::move(key));
  }
  keys_ = std::move(keys);
  items_.clear();
}

bool In::contains(Evaluation& evaluation, const Value& needle) const {
  if (!keys_.empty()) {
    std::string key;
    return evaluation.append_order_key(key, needle) && keys_.contains(key);
  }
  return std::ranges::any_of(items_, [&](const NodePtr& item) {
    const Value value = item->evaluate(evaluation);
    return !value.is_undefined() && evaluation.equal(needle, value);
  });
}

Value In::evaluate(Evaluation& evaluation) const {
  const Value needle = needle_->evaluate(evaluation);
  if (needle.is_undefined()) return {};
  return negate_if(negated_, contains(evaluation, needle));
}

Value Between::evaluate(Evaluation& evaluation) const {
  const Value value = value_->evaluate(evaluation);
  const auto low = compare_scalars(value, low_->evaluate(evaluation));
  const auto high = compare_scalars(value, high_->evaluate(evaluation));
  if ((low && *low < 0) || (high && *high > 0)) return Value::of(negated_);
  if (!low || !high) return {};
  return Value::of(!negated_);
}

Value Like::evaluate(Evaluation& evaluation) const {
  const Value text = text_->evaluate(evaluation);
  const Value pattern = pattern_->evaluate(evaluation);
  if (!text.is_string() || !pattern.is_string()) return {};
  return negate_if(negated_, is_like(evaluation, text.string(), pattern.string(), escape_));
}

// --- calls ---

Value FunctionCall::evaluate(Evaluation& evaluation) const {
  constexpr std::size_t few_max = 4;
  std::array<Value, few_max> few;
  std::span<Value> values(few.data(), std::min(arguments_.size(), few_max));
  if (arguments_.size() > few_max) {
    Value* many = evaluation.values(arguments_.size());
    if (!many) return {};
    values = std::span(many, arguments_.size());
  }
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    values[i] = arguments_[i]->evaluate(evaluation);
    if (values[i].is_undefined() && !function_.takes_undefined) return {};
    bytes += values[i].bytes();
  }
  if (!evaluation.work(bytes)) return {};
  return function_.call(evaluation, values);
}

Value UserFunctionCall::evaluate(Evaluation& evaluation) const {
  if (evaluation.failed()) return {};
  if (!evaluation.user_functions) {
    evaluation.fail(
        {ErrorCode::bad_request, "User-defined functions cannot be called here: udf." + name_, "unknown_udf"});
    return {};
  }
  std::vector<std::string> arguments;
  HeldBytes held(evaluation);
  for (const NodePtr& argument : arguments_) {
    const Value value = argument->evaluate(evaluation);
    auto& text = arguments.emplace_back();
    if (value.is_undefined()) continue;
    if (!evaluation.append_json(value, text) || !held.add(text.size())) return {};
  }
  const auto result = evaluation.user_functions->call(name_, arguments);
  if (!result) {
    evaluation.fail(result.error());
    return {};
  }
  const Value copy = evaluation.text(*result);
  return copy.is_undefined() ? copy : Value::read(copy.string(), evaluation.arena);
}

// --- subqueries ---

Value Subquery::collect(Evaluation& evaluation) const {
  ValueList values(evaluation);
  run_subquery(*program_, evaluation, [&](const Value& value) { return values.push(value) && evaluation.step(); });
  return values.to_array();
}

Value Subquery::evaluate(Evaluation& evaluation) const {
  if (use_ == Use::array) return collect(evaluation);
  const Arena::Mark before = evaluation.arena.mark();
  Value found;
  std::size_t count = 0;
  run_subquery(*program_, evaluation, [&](const Value& value) {
    ++count;
    if (count == 1 || use_ == Use::last) found = value;
    switch (use_) {
      case Use::exists:
      case Use::first:
      case Use::all:
        return false;
      case Use::scalar:
        if (count == 1) return true;
        evaluation.fail({ErrorCode::bad_request,
                         "The cardinality of a scalar subquery result set cannot be greater than one.", "invalid_sql"});
        return false;
      default:
        return true;
    }
  });
  if (evaluation.failed()) return {};
  switch (use_) {
    case Use::exists:
      evaluation.arena.rewind(before);
      return Value::of(count > 0);
    case Use::all:
      evaluation.arena.rewind(before);
      return Value::of(count == 0);
    default:
      return found;
  }
}

Value AggregateResult::evaluate(Evaluation& evaluation) const {
  return evaluation.group->aggregate(evaluation, number_);
}

Value GroupValue::evaluate(Evaluation& evaluation) const {
  return evaluation.group->key(evaluation, number_);
}

}  // namespace octavo::query::sql

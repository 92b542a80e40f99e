#pragma once

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "query/sql/evaluate/evaluation.h"
#include "query/sql/evaluate/function.h"
#include "query/sql/evaluate/program.h"
#include "query/sql/syntax/syntax_tree.h"

/// The kinds of resolved expressions.
namespace octavo::query::sql {

class Constant : public Node {
 public:
  explicit Constant(const Value& value) : value_(value) {}
  Value evaluate(Evaluation&) const override { return value_; }
  const Value& value() const { return value_; }

 private:
  Value value_;
};

/// The item itself.
class RootItem : public Node {
 public:
  Value evaluate(Evaluation& evaluation) const override { return evaluation.row.whole(evaluation.arena); }
};

class SlotValue : public Node {
 public:
  explicit SlotValue(std::size_t slot) : slot_(slot) {}
  Value evaluate(Evaluation& evaluation) const override { return evaluation.slots[slot_]; }

 private:
  std::size_t slot_;
};

/// A top-level property of the item.
class RootProperty : public Node {
 public:
  explicit RootProperty(std::size_t number) : number_(number) {}
  Value evaluate(Evaluation& evaluation) const override { return evaluation.row.property(number_, evaluation.arena); }

 private:
  std::size_t number_;
};

/// A computed property. Its expression belongs to the program and is shared by all places that name it.
class ComputedValue : public Node {
 public:
  explicit ComputedValue(const Node& expression) : expression_(expression) {}
  Value evaluate(Evaluation& evaluation) const override { return expression_.evaluate(evaluation); }

 private:
  const Node& expression_;
};

/// Properties and elements below a value, by constant names and numbers.
class Path : public Node {
 public:
  Path(NodePtr base, std::vector<PathStep> steps) : base_(std::move(base)), steps_(std::move(steps)) {}
  Value evaluate(Evaluation& evaluation) const override;

 private:
  NodePtr base_;
  std::vector<PathStep> steps_;
};

class Index : public Node {
 public:
  Index(NodePtr base, NodePtr index) : base_(std::move(base)), index_(std::move(index)) {}
  Value evaluate(Evaluation& evaluation) const override;

 private:
  NodePtr base_;
  NodePtr index_;
};

class ArrayMaker : public Node {
 public:
  explicit ArrayMaker(std::vector<NodePtr> items) : items_(std::move(items)) {}
  Value evaluate(Evaluation& evaluation) const override;

 private:
  std::vector<NodePtr> items_;
};

class ObjectMaker : public Node {
 public:
  ObjectMaker(std::vector<std::string> names, std::vector<NodePtr> values)
      : names_(std::move(names)), values_(std::move(values)) {}
  Value evaluate(Evaluation& evaluation) const override;

 private:
  std::vector<std::string> names_;
  std::vector<NodePtr> values_;
};

class Unary : public Node {
 public:
  Unary(SqlOperator op, NodePtr operand) : op_(op), operand_(std::move(operand)) {}
  Value evaluate(Evaluation& evaluation) const override;

 private:
  SqlOperator op_;
  NodePtr operand_;
};

class Binary : public Node {
 public:
  Binary(SqlOperator op, NodePtr left, NodePtr right) : op_(op), left_(std::move(left)), right_(std::move(right)) {}
  Value evaluate(Evaluation& evaluation) const override;

 private:
  SqlOperator op_;
  NodePtr left_;
  NodePtr right_;
};

/// AND (`stops_at` false) or OR (true) of several.
class Logical : public Node {
 public:
  Logical(bool stops_at, std::vector<NodePtr> operands) : stops_at_(stops_at), operands_(std::move(operands)) {}
  Value evaluate(Evaluation& evaluation) const override;

 private:
  bool stops_at_;
  std::vector<NodePtr> operands_;
};

class In : public Node {
 public:
  In(NodePtr needle, std::vector<NodePtr> items, bool negated);
  Value evaluate(Evaluation& evaluation) const override;

 private:
  bool contains(Evaluation& evaluation, const Value& needle) const;

  NodePtr needle_;
  std::vector<NodePtr> items_;
  bool negated_;
  std::unordered_set<std::string> keys_;  ///< of many constant items; items_ is then empty
};

class Between : public Node {
 public:
  Between(NodePtr value, NodePtr low, NodePtr high, bool negated)
      : value_(std::move(value)), low_(std::move(low)), high_(std::move(high)), negated_(negated) {}
  Value evaluate(Evaluation& evaluation) const override;

 private:
  NodePtr value_;
  NodePtr low_;
  NodePtr high_;
  bool negated_;
};

class Like : public Node {
 public:
  Like(NodePtr text, NodePtr pattern, std::string escape, bool negated)
      : text_(std::move(text)), pattern_(std::move(pattern)), escape_(std::move(escape)), negated_(negated) {}
  Value evaluate(Evaluation& evaluation) const override;

 private:
  NodePtr text_;
  NodePtr pattern_;
  std::string escape_;
  bool negated_;
};

class Conditional : public Node {
 public:
  Conditional(NodePtr condition, NodePtr first, NodePtr second)
      : condition_(std::move(condition)), first_(std::move(first)), second_(std::move(second)) {}
  Value evaluate(Evaluation& evaluation) const override {
    return (condition_->evaluate(evaluation).is_true() ? first_ : second_)->evaluate(evaluation);
  }

 private:
  NodePtr condition_;
  NodePtr first_;
  NodePtr second_;
};

class Coalesce : public Node {
 public:
  Coalesce(NodePtr first, NodePtr second) : first_(std::move(first)), second_(std::move(second)) {}
  Value evaluate(Evaluation& evaluation) const override {
    const Value value = first_->evaluate(evaluation);
    return value.is_undefined() ? second_->evaluate(evaluation) : value;
  }

 private:
  NodePtr first_;
  NodePtr second_;
};

class FunctionCall : public Node {
 public:
  FunctionCall(const Function& function, std::vector<NodePtr> arguments)
      : function_(function), arguments_(std::move(arguments)) {}
  Value evaluate(Evaluation& evaluation) const override;

 private:
  const Function& function_;
  std::vector<NodePtr> arguments_;
};

class UserFunctionCall : public Node {
 public:
  UserFunctionCall(std::string name, std::vector<NodePtr> arguments)
      : name_(std::move(name)), arguments_(std::move(arguments)) {}
  Value evaluate(Evaluation& evaluation) const override;

 private:
  std::string name_;
  std::vector<NodePtr> arguments_;
};

class Subquery : public Node {
 public:
  /// `all`: whether the subquery, compiled with the opposite of its condition, has no result.
  enum class Use : std::uint8_t { scalar, exists, all, array, first, last };
  Subquery(Use use, std::unique_ptr<const Program> program) : use_(use), program_(std::move(program)) {}
  Value evaluate(Evaluation& evaluation) const override;

 private:
  Value collect(Evaluation& evaluation) const;

  Use use_;
  std::unique_ptr<const Program> program_;
};

/// The result of an aggregate, or the value of a GROUP BY expression, of the group that is being projected.
class AggregateResult : public Node {
 public:
  explicit AggregateResult(std::size_t number) : number_(number) {}
  Value evaluate(Evaluation& evaluation) const override;

 private:
  std::size_t number_;
};
class GroupValue : public Node {
 public:
  explicit GroupValue(std::size_t number) : number_(number) {}
  Value evaluate(Evaluation& evaluation) const override;

 private:
  std::size_t number_;
};

}  // namespace octavo::query::sql

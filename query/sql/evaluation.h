#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/sql/arena.h"
#include "query/sql/row_shape.h"
#include "query/sql/sql_limits.h"
#include "query/sql/sql_query.h"
#include "query/sql/value.h"

namespace octavo::query {
class CompiledRegex;
}

namespace octavo::query::sql {

class Groups;

/// The item a query looks at: its properties, found in the stored text when they are asked for and not before. Each
/// property at the top that the query names is known by its number, and all of them are found in one walk.
class Row {
 public:
  /// `names`: of the properties, by number. Both outlive the row.
  Row(const std::vector<std::string>& names, const RowShape* shape);

  void bind(const storage::DocumentView& document);
  Value property(std::size_t number, Arena& arena);
  /// The whole item as a value.
  Value whole(Arena& arena);
  bool is_bound() const { return document_ != nullptr; }
  const storage::DocumentView& document() const { return *document_; }
  const RowShape& shape() const { return *shape_; }

 private:
  enum class State : std::uint8_t { unknown, found, absent };
  struct Property {
    State state = State::unknown;
    bool is_system = false;
    std::string_view json;
    std::string text;  ///< of a system property
  };
  void find(std::size_t number);

  const std::vector<std::string>& names_;
  const RowShape* shape_;
  const storage::DocumentView* document_ = nullptr;
  std::vector<Property> properties_;
  std::size_t position_ = 0;  ///< in the body: all members before it were looked at
  std::size_t body_properties_ = 0;
  std::size_t found_ = 0;
  bool has_whole_ = false;
  std::string whole_;
};

/// All that the evaluation of expressions needs to know, and its failure. One running query; one thread at a time.
class Evaluation {
 public:
  Evaluation(const std::vector<std::string>& root_names, std::size_t slots, const RowShape* shape);
  ~Evaluation();

  Arena arena{sql_item_bytes_max};
  std::vector<Value> slots;  ///< of the sources of FROM, by number
  Row row;
  UserFunctions* user_functions = nullptr;
  const Groups* group = nullptr;  ///< whose group is being projected
  std::size_t group_number = 0;

  /// The evaluation is over: values no longer count. The first failure stays.
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  bool failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }

  /// Counts a step of work on this item; false when it has had too many.
  bool step(std::uint64_t count = 1);
  void begin_item() { steps_left_ = sql_item_steps_max; }

  /// Copies into the arena, or arrays for values to be filled in; fails over its limit (null, undefined).
  Value text(std::string_view text);
  char* text_space(std::size_t size);
  Value* values(std::size_t count);
  Member* members(std::size_t count);

  /// Microseconds since 1970: now, and when the query began.
  static std::int64_t now_us();
  std::int64_t started_us() const { return started_us_; }
  void set_started_us(std::int64_t started) { started_us_ = started; }

  /// Compiled; the last ones are kept. Null: the pattern is wrong.
  const CompiledRegex* regex(std::string_view pattern, std::string_view modifiers);

 private:
  struct CachedRegex {
    std::string pattern;
    std::string modifiers;
    std::shared_ptr<const CompiledRegex> regex;
  };
  std::optional<Error> error_;
  std::uint64_t steps_left_ = sql_item_steps_max;
  std::int64_t started_us_ = now_us();
  std::vector<CachedRegex> regexes_;
};

/// An expression, resolved. Immutable; evaluated by many threads, each with an evaluation of its own.
class Node {
 public:
  virtual ~Node() = default;
  virtual Value evaluate(Evaluation& evaluation) const = 0;
};
using NodePtr = std::unique_ptr<const Node>;

}  // namespace octavo::query::sql

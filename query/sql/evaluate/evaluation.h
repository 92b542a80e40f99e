#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "query/sql/evaluate/arena.h"
#include "query/sql/evaluate/row_shape.h"
#include "query/sql/evaluate/user_functions.h"
#include "query/sql/evaluate/value.h"
#include "query/sql/syntax/sql_limits.h"

namespace octavo::query {
class CompiledRegex;
}

namespace octavo::query::sql {

class Groups;

/// The item that a query evaluates. Its properties are found in the stored text when they are first needed. Each
/// top-level property that the query names has a number, and all of them are found in one pass.
class Row {
 public:
  /// `names`: the properties' names, by number. Both arguments must outlive the row.
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

  std::optional<std::size_t> number_of(std::string_view name) const;

  const std::vector<std::string>& names_;
  std::unordered_map<std::string_view, std::size_t> numbers_;  ///< used for many names; few names are compared
  const RowShape* shape_;
  const storage::DocumentView* document_ = nullptr;
  std::vector<Property> properties_;
  std::size_t position_ = 0;  ///< in the body: all members before it have been examined
  std::size_t body_properties_ = 0;
  std::size_t found_ = 0;
  bool has_whole_ = false;
  std::string whole_;
};

/// The state of an evaluation of expressions, including its failure. One running query; one thread at a time.
class Evaluation {
 public:
  Evaluation(const std::vector<std::string>& root_names, std::size_t slots, const RowShape* shape);
  ~Evaluation();

  Arena arena{sql_item_bytes_max};
  std::vector<Value> slots;  ///< of the sources of FROM, by number
  Row row;
  UserFunctions* user_functions = nullptr;
  const Groups* group = nullptr;  ///< set while one of its groups is projected
  std::size_t group_number = 0;

  /// Ends the evaluation: its values are no longer valid. The first failure is kept.
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  bool failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }

  /// Counts a step of work on this item; false if it has had too many steps, or too much time. Cheap: reads the clock
  /// only about every thousand steps.
  bool step(std::uint64_t count = 1) {
    if (failed() || steps_left_ < count) return refuse_step();
    steps_left_ -= count;
    return spend(count);
  }
  /// Counts `bytes` that are read, or an equal amount of work, towards the next reading of the clock only. False:
  /// failed.
  bool work(std::size_t bytes) { return spend(bytes / bytes_per_step) && !failed(); }
  /// Reads the clock now: for use after work of unknown duration.
  bool look();

  /// Resets the limits for the next item.
  void begin_item() {
    steps_left_ = sql_item_steps_max;
    item_has_begun_ = false;
  }
  /// Sets the time limit of one item; the default is sql_item_time_max.
  void set_item_time_max(std::chrono::milliseconds limit) { item_time_max_ = limit; }
  /// Begins a slice of the query that should end at `until`. Evaluation continues after that, but is_late() is true.
  /// `interrupt`: an item that is evaluated until then fails, and interrupted() is true; it can be begun again after
  /// resume().
  using Clock = std::chrono::steady_clock;
  void begin_slice(Clock::time_point until, Clock::time_point interrupt) {
    slice_until_ = until;
    interrupt_at_ = interrupt;
    is_late_ = false;
  }
  /// Whether an interrupt is possible now: what has been counted cannot be counted again.
  void set_interruptible(bool interruptible) { interruptible_ = interruptible; }
  bool is_late() const { return is_late_; }
  bool interrupted() const { return interrupted_; }
  void resume() {
    if (interrupted_) error_.reset();
    interrupted_ = false;
  }

  /// Accounts for memory of an item outside the arena, which has the same limit: false if it is exceeded (see
  /// HeldBytes).
  bool hold(std::size_t bytes);
  void release(std::size_t bytes) { held_bytes_ -= bytes; }

  /// Like Value::append_json and sql::append_order_key, with the size limit of an item's values for `out`, not counting
  /// what is before `start`. False: the evaluation failed.
  bool append_json(const Value& value, std::string& out, std::size_t start = 0);
  bool append_order_key(std::string& out, const Value& value, std::size_t start = 0);
  bool append_order_key_descending(std::string& out, const Value& value, std::size_t start = 0);
  /// Equality of the language, which compares types first; objects are equal regardless of the order of their members.
  /// Precondition: neither is undefined.
  bool equal(const Value& a, const Value& b);

  /// Copy text into the arena, or allocate arrays there for values to be filled in. Beyond its limit the evaluation
  /// fails and they return null or undefined.
  Value text(std::string_view text);
  char* text_space(std::size_t size);
  Value* values(std::size_t count);
  Member* members(std::size_t count);

  /// Microseconds since 1970: now, and the start of the query.
  static std::int64_t now_us();
  std::int64_t started_us() const { return started_us_; }
  void set_started_us(std::int64_t started) { started_us_ = started; }

  /// The compiled pattern; the last ones are cached. Null: the pattern is invalid or too large, and the evaluation
  /// fails.
  const CompiledRegex* regex(std::string_view pattern, std::string_view modifiers);

 private:
  static constexpr std::size_t bytes_per_step = 256;
  bool spend(std::uint64_t steps) {
    spent_ += steps;
    return spent_ < next_look_ || look();
  }
  bool refuse_step();

  struct CachedRegex {
    std::string pattern;
    std::string modifiers;
    std::shared_ptr<const CompiledRegex> regex;
  };
  std::optional<Error> error_;
  std::uint64_t steps_left_ = sql_item_steps_max;
  std::uint64_t spent_ = 0;      ///< steps since the beginning
  std::uint64_t next_look_ = 0;  ///< value of spent_ at which to read the clock next
  std::size_t held_bytes_ = 0;
  Clock::time_point slice_until_ = Clock::time_point::max();
  Clock::time_point interrupt_at_ = Clock::time_point::max();
  Clock::time_point item_begun_;  ///< when its time was first checked
  std::chrono::nanoseconds item_processor_begun_{};
  std::chrono::milliseconds item_time_max_ = sql_item_time_max;
  bool item_has_begun_ = false;
  bool is_late_ = false;
  bool interruptible_ = true;
  bool interrupted_ = false;
  std::int64_t started_us_ = now_us();
  std::vector<CachedRegex> regexes_;
};

/// Accounts for memory that an item holds outside the arena, until this object is destroyed.
class HeldBytes {
 public:
  explicit HeldBytes(Evaluation& evaluation) : evaluation_(evaluation) {}
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;
  HeldBytes(HeldBytes&& other) noexcept : evaluation_(other.evaluation_), bytes_(std::exchange(other.bytes_, 0)) {}
  ~HeldBytes() { evaluation_.release(bytes_); }
  /// False: the evaluation failed.
  bool add(std::size_t bytes) {
    bytes_ += bytes;
    return evaluation_.hold(bytes);
  }

 private:
  Evaluation& evaluation_;
  std::size_t bytes_ = 0;
};

/// A list of values whose number is not known in advance.
class ValueList {
 public:
  explicit ValueList(Evaluation& evaluation) : evaluation_(evaluation), held_(evaluation) {}
  /// False: the evaluation failed.
  bool push(const Value& value) {
    if (!held_.add(sizeof(Value))) return false;
    values_.push_back(value);
    return true;
  }
  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  std::span<const Value> all() const { return values_; }
  /// The list as a value in the arena; undefined: the evaluation failed.
  Value to_array() const;

 private:
  Evaluation& evaluation_;
  HeldBytes held_;
  std::vector<Value> values_;
};

/// A resolved expression. Immutable; may be evaluated by many threads, each with its own Evaluation.
class Node {
 public:
  virtual ~Node() = default;
  virtual Value evaluate(Evaluation& evaluation) const = 0;
};
using NodePtr = std::unique_ptr<const Node>;

}  // namespace octavo::query::sql

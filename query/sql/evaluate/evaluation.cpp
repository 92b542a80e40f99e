#include "query/sql/evaluate/evaluation.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/machine/processor_time.h"
#include "query/index/raw_field.h"
#include "query/json/normalize.h"
#include "query/selector/internal/regex.h"

namespace octavo::query::sql {

// --- row ---

namespace {
constexpr std::size_t names_compared_max = 16;
}

Row::Row(const std::vector<std::string>& names, const RowShape* shape) : names_(names), shape_(shape) {
  properties_.resize(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    properties_[i].is_system = shape_ && shape_->is_system_property(names[i]);
    if (!properties_[i].is_system) ++body_properties_;
  }
  if (names.size() <= names_compared_max) return;
  for (std::size_t i = 0; i < names.size(); ++i) numbers_.emplace(names[i], i);
}

std::optional<std::size_t> Row::number_of(std::string_view name) const {
  if (numbers_.empty()) {
    const auto found = std::ranges::find(names_, name);
    return found == names_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - names_.begin()));
  }
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

void Row::bind(const storage::DocumentView& document) {
  document_ = &document;
  for (Property& property : properties_) property.state = State::unknown;
  position_ = 1;
  found_ = 0;
  has_whole_ = false;
}

Value Row::property(std::size_t number, Arena& arena) {
  Property& property = properties_[number];
  if (property.state == State::unknown) find(number);
  return property.state == State::found ? Value::read(property.json, arena) : Value();
}

void Row::find(std::size_t number) {
  Property& wanted = properties_[number];
  if (!document_) {
    wanted.state = State::absent;
    return;
  }
  if (wanted.is_system) {
    wanted.text.clear();
    shape_->append_system_property(*document_, names_[number], wanted.text);
    wanted.state = wanted.text.empty() ? State::absent : State::found;
    wanted.json = wanted.text;
    return;
  }
  const std::string_view body = document_->body;
  while (found_ < body_properties_ && position_ < body.size() && body[position_] == '"') {
    const std::size_t name_end = skip_raw_value(body, position_);
    std::string_view name = body.substr(position_ + 1, name_end - position_ - 2);
    std::string decoded;
    if (name.find('\\') != std::string_view::npos) {
      append_decoded_string(name, decoded);
      name = decoded;
    }
    const std::size_t end = skip_raw_value(body, name_end + 1);
    position_ = end + 1;
    const auto found = number_of(name);
    if (!found || properties_[*found].is_system) continue;
    properties_[*found].state = State::found;
    properties_[*found].json = body.substr(name_end + 1, end - name_end - 1);
    ++found_;
    if (*found == number) return;
  }
  wanted.state = State::absent;
}

Value Row::whole(Arena& arena) {
  if (!document_) return {};
  if (!has_whole_) {
    whole_.clear();
    shape_->append_row(*document_, whole_);
    has_whole_ = true;
  }
  return Value::read(whole_, arena);
}

// --- evaluation ---

namespace {
constexpr std::size_t regexes_max = 8;
}

Evaluation::Evaluation(const std::vector<std::string>& root_names, std::size_t slot_count, const RowShape* shape)
    : row(root_names, shape) {
  slots.resize(slot_count);
}

Evaluation::~Evaluation() = default;

namespace {

// Takes about 10 to 100 microseconds.
constexpr std::uint64_t steps_between_looks = 1024;

Error over_memory() {
  return {ErrorCode::too_large, "The values that the query builds for one item exceed their limit.", "resource_limit"};
}

}  // namespace

bool Evaluation::refuse_step() {
  fail({ErrorCode::too_large,
        "The query walks through too many combinations of array elements of one item; filter them earlier.",
        "resource_limit"});
  return false;
}

bool Evaluation::look() {
  next_look_ = spent_ + steps_between_looks;
  if (failed()) return false;
  const auto now = Clock::now();
  is_late_ = is_late_ || now >= slice_until_;
  if (now >= interrupt_at_ && interruptible_) {
    interrupted_ = true;
    fail({ErrorCode::timeout, "The slice is over.", "resource_limit"});
    return false;
  }
  if (!item_has_begun_) {
    item_has_begun_ = true;
    item_begun_ = now;
    item_processor_begun_ = processor_time();
  } else if (now - item_begun_ >= item_time_max_ && processor_time() - item_processor_begun_ >= item_time_max_) {
    fail({ErrorCode::too_large, "The query takes too much time for one item; filter earlier, or ask for less.",
          "resource_limit"});
    return false;
  }
  return true;
}

bool Evaluation::hold(std::size_t bytes) {
  held_bytes_ += bytes;
  if (held_bytes_ <= sql_item_bytes_max) return !failed();
  fail(over_memory());
  return false;
}

bool Evaluation::append_json(const Value& value, std::string& out, std::size_t start) {
  const std::size_t before = out.size();
  if (!value.append_json(out, start + sql_item_bytes_max)) fail(over_memory());
  return work(out.size() - before);
}

bool Evaluation::append_order_key(std::string& out, const Value& value, std::size_t start) {
  const std::size_t before = out.size();
  if (!sql::append_order_key(out, value, start + sql_item_bytes_max)) fail(over_memory());
  return work(out.size() - before);
}

bool Evaluation::append_order_key_descending(std::string& out, const Value& value, std::size_t start) {
  const std::size_t before = out.size();
  if (!sql::append_order_key_descending(out, value, start + sql_item_bytes_max)) fail(over_memory());
  return work(out.size() - before);
}

bool Evaluation::equal(const Value& a, const Value& b) {
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case Type::undefined:
    case Type::null:
      return true;
    case Type::boolean:
      return a.boolean() == b.boolean();
    case Type::number:
      return a.number() == b.number();
    case Type::string:
      return a.string().size() == b.string().size() && work(a.string().size()) && a.string() == b.string();
    case Type::array:
    case Type::object: {
      if (a.is_text() && b.is_text() && a.text() == b.text()) return true;
      std::string left, right;
      return append_order_key(left, a) && append_order_key(right, b) && left == right;
    }
  }
  return false;
}

Value ValueList::to_array() const {
  Value* items = evaluation_.values(values_.size());
  if (!items) return {};
  std::ranges::copy(values_, items);
  return Value::array_of(items, values_.size());
}

char* Evaluation::text_space(std::size_t size) {
  auto* buffer = arena.allocate_array<char>(size);
  if (!buffer) fail(over_memory());
  return buffer;
}

Value Evaluation::text(std::string_view text) {
  auto* buffer = text_space(text.size());
  if (!buffer) return {};
  if (!text.empty()) std::memcpy(buffer, text.data(), text.size());
  return Value::of(std::string_view(buffer, text.size()));
}

Value* Evaluation::values(std::size_t count) {
  auto* buffer = arena.allocate_array<Value>(count);
  if (!buffer) {
    fail(over_memory());
    return nullptr;
  }
  std::uninitialized_default_construct_n(buffer, count);
  return buffer;
}

Member* Evaluation::members(std::size_t count) {
  auto* buffer = arena.allocate_array<Member>(count);
  if (!buffer) {
    fail(over_memory());
    return nullptr;
  }
  std::uninitialized_value_construct_n(buffer, count);
  return buffer;
}

std::int64_t Evaluation::now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

const CompiledRegex* Evaluation::regex(std::string_view pattern, std::string_view modifiers) {
  const auto found = std::ranges::find_if(
      regexes_, [&](const CachedRegex& cached) { return cached.pattern == pattern && cached.modifiers == modifiers; });
  if (found != regexes_.end()) return found->regex.get();
  auto compiled = CompiledRegex::compile(pattern, RegexDialect::characters,
                                         {.ignore_case = modifiers.contains('i'),
                                          .multi_line = modifiers.contains('m'),
                                          .dot_all = modifiers.contains('s'),
                                          .ignore_blanks = modifiers.contains('x')});
  if (!compiled && compiled.error().code == ErrorCode::too_large) {
    fail({ErrorCode::bad_request, "REGEXMATCH: " + compiled.error().reason, {}});
    return nullptr;
  }
  if (regexes_.size() == regexes_max) regexes_.erase(regexes_.begin());
  regexes_.push_back({std::string(pattern), std::string(modifiers), compiled ? *std::move(compiled) : nullptr});
  return regexes_.back().regex.get();
}

}  // namespace octavo::query::sql

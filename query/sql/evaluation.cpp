#include "query/sql/evaluation.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "query/index/raw_field.h"
#include "query/json/normalize.h"
#include "query/selector/internal/regex.h"

namespace octavo::query::sql {

// --- row ---

Row::Row(const std::vector<std::string>& names, const RowShape* shape) : names_(names), shape_(shape) {
  properties_.resize(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    properties_[i].is_system = shape_ && shape_->is_system_property(names[i]);
    if (!properties_[i].is_system) ++body_properties_;
  }
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
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] != name || properties_[i].is_system) continue;
      properties_[i].state = State::found;
      properties_[i].json = body.substr(name_end + 1, end - name_end - 1);
      ++found_;
      if (i == number) return;
      break;
    }
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
constexpr std::size_t kRegexesMax = 8;
}

Evaluation::Evaluation(const std::vector<std::string>& root_names, std::size_t slot_count, const RowShape* shape)
    : row(root_names, shape) {
  slots.resize(slot_count);
}

Evaluation::~Evaluation() = default;

bool Evaluation::step(std::uint64_t count) {
  if (failed()) return false;
  if (steps_left_ < count) {
    fail({ErrorCode::too_large,
          "The query walks through too many combinations of array elements of one item; filter them earlier.",
          "resource_limit"});
    return false;
  }
  steps_left_ -= count;
  return true;
}

namespace {
Error over_memory() {
  return {ErrorCode::too_large, "The values that the query builds for one item exceed their limit.", "resource_limit"};
}
}  // namespace

char* Evaluation::text_space(std::size_t size) {
  auto* place = arena.allocate_array<char>(size);
  if (!place) fail(over_memory());
  return place;
}

Value Evaluation::text(std::string_view text) {
  auto* place = text_space(text.size());
  if (!place) return {};
  if (!text.empty()) std::memcpy(place, text.data(), text.size());
  return Value::of(std::string_view(place, text.size()));
}

Value* Evaluation::values(std::size_t count) {
  auto* place = arena.allocate_array<Value>(count);
  if (!place) {
    fail(over_memory());
    return nullptr;
  }
  std::uninitialized_default_construct_n(place, count);
  return place;
}

Member* Evaluation::members(std::size_t count) {
  auto* place = arena.allocate_array<Member>(count);
  if (!place) {
    fail(over_memory());
    return nullptr;
  }
  std::uninitialized_value_construct_n(place, count);
  return place;
}

std::int64_t Evaluation::now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

const CompiledRegex* Evaluation::regex(std::string_view pattern, std::string_view modifiers) {
  const auto found = std::ranges::find_if(
      regexes_, [&](const CachedRegex& cached) { return cached.pattern == pattern && cached.modifiers == modifiers; });
  if (found != regexes_.end()) return found->regex.get();
  std::string whole;
  if (!modifiers.empty()) whole.append("(?").append(modifiers).append(")");
  whole += pattern;
  if (regexes_.size() == kRegexesMax) regexes_.erase(regexes_.begin());
  regexes_.push_back({std::string(pattern), std::string(modifiers), CompiledRegex::compile(whole)});
  return regexes_.back().regex.get();
}

}  // namespace octavo::query::sql

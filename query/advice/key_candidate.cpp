#include "query/advice/key_candidate.h"

#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "query/json/date_text.h"
#include "query/json/property_path.h"

namespace octavo::query::advice {

namespace {

using partitioning::KeyValue;
using partitioning::MissingValue;
using partitioning::NullValue;
using Value = AdvisedPath::Value;

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

/// Appends a value to a text that programs make of several properties. False: there is no value.
bool append_part(std::string& out, const Value& value) {
  return std::visit(Overloaded{[](MissingValue) { return false; }, [](NullValue) { return false; },
                               [&](bool truth) {
                                 append_json_bool(out, truth);
                                 return true;
                               },
                               [&](double number) {
                                 partitioning::append_key_number(out, number);
                                 return true;
                               },
                               [&](std::string_view text) {
                                 out += text;
                                 return true;
                               }},
                    value);
}

void append_json(std::string& out, const Value& value) {
  std::visit(Overloaded{[&](MissingValue) { out += "{}"; }, [&](NullValue) { out += "null"; },
                        [&](bool truth) { append_json_bool(out, truth); },
                        [&](double number) { partitioning::append_key_number(out, number); },
                        [&](std::string_view text) { append_json_string(out, text); }},
             value);
}

KeyValue to_key_value(const Value& value) {
  return std::visit(Overloaded{[](std::string_view text) -> KeyValue { return std::string(text); },
                               [](auto other) -> KeyValue { return other; }},
                    value);
}

Value value_of(const simdjson::dom::element& element) {
  using simdjson::dom::element_type;
  switch (element.type()) {
    case element_type::STRING:
      return element.get_string().value_unsafe();
    case element_type::INT64:
    case element_type::UINT64:
    case element_type::DOUBLE:
      return element.get_double().value_unsafe();
    case element_type::BOOL:
      return element.get_bool().value_unsafe();
    case element_type::NULL_VALUE:
      return NullValue{};
    default:
      return MissingValue{};
  }
}

std::optional<std::uint32_t> seconds_of(double seconds) {
  constexpr double milliseconds_from = 1e11;  // as seconds: the year 5138
  if (seconds >= milliseconds_from) seconds /= 1000;
  if (!(seconds >= 0 && seconds <= UINT32_MAX)) return std::nullopt;
  return static_cast<std::uint32_t>(seconds);
}

}  // namespace

Expected<AdvisedPath> AdvisedPath::parse(std::string_view text) {
  OCTAVO_TRY(const auto parts, split_property_path(text));
  AdvisedPath path;
  path.text_ = text;
  path.path_ = property_field_path(parts);
  if (path.path_.is("_id")) path.source_ = Source::id;
  if (path.path_.is("_ts")) path.source_ = Source::modified;
  return path;
}

std::optional<AdvisedPath> AdvisedPath::of(const FieldPath& path) {
  std::string text;
  for (const FieldPath::Part& part : path.parts()) {
    const bool is_plain = part.name.find_first_of("/\"'\\") == std::string::npos;
    if (!is_plain && part.name.find_first_of("\"\\") != std::string::npos) return std::nullopt;
    text += is_plain ? "/" + part.name : "/\"" + part.name + '"';
  }
  auto parsed = parse(text);
  if (!parsed) return std::nullopt;
  return *std::move(parsed);
}

AdvisedPath::Value AdvisedPath::read(const ScannedDocument& document) const {
  if (source_ == Source::id) return document.id;
  if (source_ == Source::modified) return static_cast<double>(document.modified_s);
  const FieldLookup found = find_field(document.body, path_);
  return found ? value_of(found.value) : Value(MissingValue{});
}

std::optional<std::uint32_t> AdvisedPath::read_time(const ScannedDocument& document) const {
  const Value value = read(document);
  if (const auto* number = std::get_if<double>(&value)) return seconds_of(*number);
  const auto* text = std::get_if<std::string_view>(&value);
  const auto ticks = text ? dates::parse_date(*text) : std::nullopt;
  if (!ticks) return std::nullopt;
  return seconds_of(static_cast<double>(*ticks) / static_cast<double>(dates::ticks_per_second));
}

bool KeyCandidate::has(const AdvisedPath& path) const {
  return std::ranges::find(paths, path) != paths.end();
}

void KeyReader::read(const ScannedDocument& document) {
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = candidate_.paths[i].read(document);
  is_missing_ =
      std::ranges::any_of(values_, [](const Value& value) { return std::holds_alternative<MissingValue>(value); });
  text_.clear();
  if (candidate_.kind != KeyCandidate::Kind::composite) {
    const bool is_list = candidate_.kind == KeyCandidate::Kind::hierarchical;
    if (is_list) text_ += '[';
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (i > 0) text_ += ',';
      append_json(text_, values_[i]);
    }
    if (is_list) text_ += ']';
    return;
  }
  joined_.clear();
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (i > 0) joined_ += candidate_.separator;
    is_missing_ = !append_part(joined_, values_[i]) || is_missing_;
  }
  append_json(text_, is_missing_ ? Value(MissingValue{}) : Value(std::string_view(joined_)));
}

partitioning::HashPosition KeyReader::position() const {
  std::vector<KeyValue> values;
  if (candidate_.kind == KeyCandidate::Kind::composite) {
    values.push_back(is_missing_ ? KeyValue(MissingValue{}) : KeyValue(joined_));
  } else {
    for (const Value& value : values_) values.push_back(to_key_value(value));
  }
  const bool is_hierarchical = candidate_.kind == KeyCandidate::Kind::hierarchical;
  const auto scheme = is_hierarchical ? storage::KeyScheme::multi_hash : storage::KeyScheme::hash_v2;
  return partitioning::TypedKey(std::move(values), is_hierarchical).position(scheme);
}

}  // namespace octavo::query::advice

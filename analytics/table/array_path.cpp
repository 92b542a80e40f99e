#include "analytics/table/array_path.h"

#include <algorithm>
#include <utility>

#include "analytics/table/type_inference.h"
#include "base/json_writer.h"

namespace octavo::analytics {

namespace {

constexpr std::string_view element_step = "[]";

using NamesLeft = std::span<const std::string>;

std::optional<std::string_view> array_at(std::string_view value, NamesLeft names) {
  for (const std::string& name : names) {
    if (!value.starts_with('{')) return std::nullopt;
    query::JsonCursor cursor(value);
    bool more = cursor.enter();
    for (; more && cursor.name() != name; more = cursor.next()) cursor.skip();
    if (!more) return std::nullopt;
    value = cursor.skip();
  }
  return value.starts_with('[') ? std::optional(value) : std::nullopt;
}

void append_without(std::string& out, query::JsonCursor& object, const std::vector<NamesLeft>& paths) {
  out += '{';
  bool is_first = true;
  for (bool more = object.enter(); more; more = object.next()) {
    const std::string name(object.name());
    std::vector<NamesLeft> inside;
    bool is_last = false;
    for (const NamesLeft& path : paths) {
      if (path.front() != name) continue;
      if (path.size() > 1) inside.push_back(path.subspan(1));
      is_last = is_last || path.size() == 1;
    }
    if (is_last && object.front() == '[') {
      object.skip();
      continue;
    }
    if (!std::exchange(is_first, false)) out += ',';
    append_json_string(out, name);
    out += ':';
    if (!inside.empty() && object.front() == '{') {
      append_without(out, object, inside);
    } else {
      out += object.skip();
    }
  }
  out += '}';
}

}  // namespace

std::optional<ArrayPath> ArrayPath::parse(std::string_view text) {
  ArrayPath path;
  path.text_ = text;
  path.steps_.emplace_back();
  std::size_t names = 0;
  while (!text.empty()) {
    if (text.front() != '/') return std::nullopt;
    text.remove_prefix(1);
    const std::string_view name = text.substr(0, text.find('/'));
    text.remove_prefix(name.size());
    if (name == element_step) {
      if (path.names().empty()) return std::nullopt;
      path.steps_.emplace_back();
      continue;
    }
    if (!TypeInference::is_possible_name(name) || ++names > names_max) return std::nullopt;
    path.steps_.back().emplace_back(name);
  }
  if (path.names().empty() || path.steps_.front().front().starts_with('_')) return std::nullopt;
  return path;
}

std::string_view ArrayPath::parent() const {
  const auto end = text_.rfind("/[]/");
  return end == std::string::npos ? std::string_view() : std::string_view(text_).substr(0, end);
}

std::optional<std::string_view> ArrayPath::outermost(std::string_view document) const {
  return array_at(document, steps_.front());
}

void ArrayPath::for_each_element(std::string_view outermost,
                                 FunctionRef<void(Positions, query::JsonCursor&)> visit) const {
  query::JsonCursor array(outermost);
  std::vector<std::int64_t> positions;
  walk(array, positions, visit);
}

void ArrayPath::walk(query::JsonCursor& array, std::vector<std::int64_t>& positions,
                     FunctionRef<void(Positions, query::JsonCursor&)> visit) const {
  positions.push_back(0);
  const std::size_t depth = positions.size();
  for (bool more = array.enter(); more; more = array.next()) {
    if (depth == steps_.size()) {
      visit(positions, array);
    } else if (const auto inner = array_at(array.skip(), steps_[depth])) {
      query::JsonCursor next(*inner);
      walk(next, positions, visit);
    }
    ++positions.back();
  }
  positions.pop_back();
}

std::string_view without_arrays(std::string_view value, const std::vector<ArrayPath::Names>& paths,
                                std::deque<std::string>& texts) {
  const bool has_one =
      std::ranges::any_of(paths, [&](const auto& names) { return array_at(value, names).has_value(); });
  if (!has_one) return value;
  std::string& text = texts.emplace_back();
  query::JsonCursor object(value);
  append_without(text, object, {paths.begin(), paths.end()});
  return text;
}

}  // namespace octavo::analytics

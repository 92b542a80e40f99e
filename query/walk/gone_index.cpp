#include "query/walk/gone_index.h"

#include <utility>

namespace octavo::query {

std::string GoneIndex::to_text() const {
  std::string text;
  if (down) text += *down ? '-' : '+';
  text += order == StringOrder::bytes ? 'b' : 'c';
  return text + path.text();
}

std::optional<GoneIndex> GoneIndex::from_text(std::string_view text) {
  GoneIndex index;
  if (text.starts_with('+') || text.starts_with('-')) {
    index.down = text.front() == '-';
    text.remove_prefix(1);
  }
  if (!text.starts_with('b') && !text.starts_with('c')) return std::nullopt;
  index.order = text.front() == 'b' ? StringOrder::bytes : StringOrder::icu;
  auto path = FieldPath::parse(text.substr(1));
  if (!path || path->empty()) return std::nullopt;
  index.path = *std::move(path);
  return index;
}

std::optional<std::string> GoneIndex::entry_of(simdjson::dom::element body, std::string_view id) const {
  const FieldLookup field = find_field(body, path);
  if (!field) return std::nullopt;
  std::string entry;
  AutomaticIndex::append_key(entry, field.value, order);
  entry += id;
  return entry;
}

}  // namespace octavo::query

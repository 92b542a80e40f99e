#include "query/walk/gone_index.h"

#include <utility>

#include "base/byte_codec.h"
#include "query/collation/sort_key.h"
#include "query/json/field_path.h"

namespace octavo::query {

namespace {

constexpr std::size_t gone_fields_max = 64;  // no composite index has more

bool take_mark(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<std::uint64_t> take_varint(std::string_view& text) {
  ByteReader reader(text);
  const std::uint64_t number = reader.varint();
  if (!reader.ok()) return std::nullopt;
  text = reader.rest();
  return number;
}

std::optional<FieldPath> gone_path(std::string_view text) {
  auto path = FieldPath::parse(text);
  if (!path || path->empty()) return std::nullopt;
  return *std::move(path);
}

// The fields of a composite or JSON index. Empty: the text is invalid.
std::vector<OrderedField> gone_fields(std::string_view text) {
  std::vector<OrderedField> fields;
  ByteReader reader(text);
  while (!reader.rest().empty()) {
    const std::string_view direction = reader.bytes(1);
    auto path = gone_path(reader.sized_bytes());
    const bool is_valid = reader.ok() && path && (direction == "+" || direction == "-");
    if (!is_valid || fields.size() == gone_fields_max) return {};
    fields.push_back({*std::move(path), direction == "-"});
  }
  return fields;
}

}  // namespace

std::optional<GoneIndex> GoneIndex::of(const IndexDefinition& index, bool down) {
  if (index.elements || index.fields.empty()) return std::nullopt;
  GoneIndex gone;
  gone.fields = index.fields;
  gone.is_json = !index.automatic;
  gone.has_absences = index.absence != nullptr;
  gone.order = gone.is_json ? StringOrder::icu : index.automatic->order();
  gone.down = down;
  return gone;
}

std::string GoneIndex::to_text() const {
  std::string text;
  ByteWriter writer(text);
  if (partition_id) {
    text += '@';
    writer.varint(*partition_id);
  }
  if (side) {
    text += '|';
    writer.varint(*side);
  }
  if (down) text += *down ? '-' : '+';
  const bool by_bytes = order == StringOrder::bytes;
  if (fields.empty()) {
    text += 'p';
  } else if (!is_json && fields.size() == 1) {
    text += has_absences ? 'a' : by_bytes ? 'b' : 'c';
    text += fields[0].path.text();
  } else {
    text += is_json ? 'j' : by_bytes ? 'B' : 'C';
    for (const OrderedField& field : fields) {
      text += field.descending ? '-' : '+';
      writer.sized_bytes(field.path.text());
    }
  }
  return text;
}

std::optional<GoneIndex> GoneIndex::from_text(std::string_view text) {
  GoneIndex index;
  if (take_mark(text, '@')) {
    const auto number = take_varint(text);
    if (!number) return std::nullopt;
    index.partition_id = *number;
  }
  if (take_mark(text, '|')) {
    index.side = take_varint(text);
    if (!index.side) return std::nullopt;
  }
  if (text.starts_with('+') || text.starts_with('-')) {
    index.down = text.front() == '-';
    text.remove_prefix(1);
  }
  if (text.empty()) return std::nullopt;
  const char form = text.front();
  text.remove_prefix(1);
  index.is_json = form == 'j';
  index.has_absences = form == 'a';
  index.order = form == 'a' || form == 'b' || form == 'B' || form == 'p' ? StringOrder::bytes : StringOrder::icu;
  switch (form) {
    case 'p':
      if (!text.empty()) return std::nullopt;
      return index;
    case 'a':
    case 'b':
    case 'c': {
      auto path = gone_path(text);
      if (!path) return std::nullopt;
      index.fields.push_back({*std::move(path), false});
      return index;
    }
    case 'B':
    case 'C':
    case 'j': {
      const std::size_t fields_min = index.is_json ? 1 : 2;
      index.fields = gone_fields(text);
      if (index.fields.size() < fields_min) return std::nullopt;
      return index;
    }
    default:
      return std::nullopt;
  }
}

std::optional<std::string> GoneIndex::entry_of(const IndexedDocument& document) const {
  std::string entry;
  if (is_json) {
    // A partial filter need not be known: it is true of all results.
    std::string value;
    append_index_entry(fields, document, entry, value);
    return entry;
  }
  if (fields.size() == 1) {
    const FieldLookup field = find_field(document.body, fields[0].path);
    if (!field && !has_absences) return std::nullopt;
    if (field) {
      AutomaticIndex::append_key(entry, field.value, order);
    } else {
      append_sort_key(entry, SortSentinel::missing);
    }
  } else {
    AutomaticIndex::append_composite_key(entry, document.body, fields, order);
  }
  entry += document.id;
  return entry;
}

}  // namespace octavo::query

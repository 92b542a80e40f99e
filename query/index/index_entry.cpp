#include "query/index/index_entry.h"

#include <charconv>

#include "base/byte_codec.h"
#include "base/json_writer.h"
#include "query/collation/sort_key.h"
#include "query/index/raw_field.h"

namespace octavo::query {

namespace {

// Appends the JSON text of a field. Only what the parser has lost (the spelling of non-integers, the inside of
// containers) is read from the source.
void append_field_text(std::string& out, const simdjson::dom::element& value, const FieldPath& path,
                       std::string_view body_text) {
  using Type = simdjson::dom::element_type;
  switch (value.type()) {
    case Type::STRING:
      append_json_string(out, value.get_string().value_unsafe());
      return;
    case Type::INT64:
      // -0 is the only integer with a second spelling.
      if (const auto number = value.get_int64().value_unsafe(); number != 0) {
        append_json_number(out, number);
        return;
      }
      break;
    case Type::UINT64:
      append_json_number(out, value.get_uint64().value_unsafe());
      return;
    case Type::BOOL:
      append_json_bool(out, value.get_bool().value_unsafe());
      return;
    case Type::NULL_VALUE:
      out += "null";
      return;
    default:
      break;
  }
  out += find_raw_field(body_text, path);
}

void append_sized(std::string& out, std::string_view text) {
  ByteWriter(out).sized_bytes(text);
}

}  // namespace

bool append_index_entry(const IndexDefinition& definition, const IndexedDocument& document, std::string& key,
                        std::string& value) {
  if (definition.partial_filter) {
    std::string revision;
    document.revision.append_to(revision);
    if (!definition.partial_filter->matches(document.body, document.id, revision)) return false;
  }
  append_index_entry(definition.fields, document, key, value);
  return true;
}

void append_index_entry(std::span<const OrderedField> fields, const IndexedDocument& document, std::string& key,
                        std::string& value) {
  std::string revision;
  const auto revision_text = [&]() -> std::string_view {
    if (revision.empty()) document.revision.append_to(revision);
    return revision;
  };
  ByteWriter(value).varint(document.id.size());
  std::string text;
  for (const auto& field : fields) {
    text.clear();
    if (field.path.is("_id") || field.path.is("_rev")) {
      const bool is_id = field.path.is("_id");
      const std::string_view meta = is_id ? document.id : revision_text();
      const std::size_t start = key.size();
      append_sort_key_of_string(key, meta, is_id ? StringOrder::bytes : StringOrder::icu);
      if (field.descending) {
        for (std::size_t i = start; i < key.size(); ++i) key[i] = static_cast<char>(~key[i]);
      }
      append_json_string(text, meta);
    } else if (const auto found = find_field(document.body, field.path)) {
      if (field.descending) {
        append_sort_key_descending(key, found.value);
      } else {
        append_sort_key(key, found.value);
      }
      append_field_text(text, found.value, field.path, document.body_text);
    } else {
      append_sort_key(key, SortSentinel::missing, field.descending);
    }
    append_sized(value, text);
  }
  key += document.id;
}

std::optional<IndexRow> IndexRow::decode(std::string_view key, std::string_view value) {
  ByteReader reader(value);
  const std::uint64_t id_size = reader.varint();
  if (!reader.ok() || id_size > key.size()) return std::nullopt;
  IndexRow row;
  row.key_ = key;
  row.id_size_ = id_size;
  row.fields_ = reader.rest();
  return row;
}

std::string_view IndexRow::field(std::size_t field) const {
  ByteReader reader(fields_);
  std::string_view text;
  for (std::size_t i = 0; i <= field; ++i) text = reader.sized_bytes();
  return text;
}

}  // namespace octavo::query

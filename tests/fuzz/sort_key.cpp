// Index keys: JSON values as bytes must sort as the values do, both ways; what stands in an index must read back.
#include "query/collation/sort_key.h"

#include <cstring>
#include <string>

#include <boost/json.hpp>

#include "base/json_writer.h"
#include "fuzz/target.h"
#include "query/collation/collation.h"
#include "query/index/index_entry.h"
#include "query/json/normalize.h"
#include "query/json/parsed_document.h"

namespace {

using namespace octavo;
using namespace octavo::query;
using octavo::fuzz::InputReader;
using octavo::fuzz::require;

int sign(int order) {
  return (order > 0) - (order < 0);
}

int byte_order(std::string_view a, std::string_view b) {
  return sign(a.compare(b));
}

struct Value {
  std::string text;
  DocumentParser parser;
  simdjson::dom::element element;
  boost::json::value json;
  std::string up, down, bytes;

  bool read(std::string_view raw) {
    if (!normalize_value(raw, text)) return false;
    const auto parsed = parser.parse(text);
    auto tree = parse_json(text, LargeIntegers::exact);
    if (!parsed || !tree) return false;
    element = *parsed;
    json = *std::move(tree);
    append_sort_key(up, element);
    append_sort_key_descending(down, element);
    append_sort_key(bytes, element, StringOrder::bytes);
    check_key();
    return true;
  }

  void check_key() const {
    require(sort_key_length(up) == up.size(), "the length of a key can be found");
    require(sort_key_length(down, true) == down.size(), "and of a descending one");
    require(sort_key_length(bytes, false, StringOrder::bytes) == bytes.size(), "and of one by bytes");
    for (std::size_t i = 0; i < up.size(); ++i) {
      require(static_cast<char>(~up[i]) == down[i], "a descending key is the complement");
    }
    std::string lowest, missing, highest;
    append_sort_key(lowest, SortSentinel::lowest);
    append_sort_key(missing, SortSentinel::missing);
    append_sort_key(highest, SortSentinel::highest);
    require(lowest < missing && missing < up && up < highest, "values stand between the sentinels");
  }
};

void check_order(const Value& a, const Value& b) {
  const int order = sign(compare(a.element, b.element));
  require(order == -sign(compare(b.element, a.element)), "the order is the same from both sides");
  require(byte_order(a.up, b.up) == order, "keys sort as their values");
  require(byte_order(a.down, b.down) == -order, "descending keys sort the other way round");
  if (order != 0) {
    require(!a.up.starts_with(b.up) && !b.up.starts_with(a.up), "no key is a prefix of another");
    require(!a.bytes.starts_with(b.bytes) && !b.bytes.starts_with(a.bytes), "nor by bytes");
  }
  require(byte_order(a.up + b.down, b.up + a.down) == order, "joined keys sort by their first part");
  if (is_text(a.json) && is_text(b.json)) {
    const std::string_view left = a.json.get_string(), right = b.json.get_string();
    require(byte_order(a.bytes, b.bytes) == byte_order(left, right), "by bytes means by bytes");
    std::string key;
    append_sort_key_of_string(key, left);
    require(key == a.up, "a string's key needs no JSON value");
    // Every string that begins with a prefix sorts between the safe part of it and that with U+FFFF behind, unless it
    // has that character itself.
    const std::string joined = std::string(left) + std::string(right);
    const std::string safe(collation_safe_prefix(left));
    require(left.starts_with(safe), "a safe prefix is a prefix");
    if (!right.contains("\xEF\xBF\xBF")) {
      require(compare_strings(joined, safe) >= 0, "a safe prefix is a lower bound");
      require(compare_strings(joined, safe + "\xEF\xBF\xBF") <= 0, "and bounds from above");
    }
  }
  require(sign(compare(a.json, b.json)) == order, "both kinds of value have one order");
  require(sign(compare(a.element, b.json)) == order, "also when mixed");
  std::string key;
  append_sort_key(key, a.json);
  require(key == a.up, "both kinds of value have one key");
  require(sign(compare_raw(a.element, b.json)) == -sign(compare_raw(b.element, a.json)), "so has the order of ids");
}

IndexDefinition definition_of(std::uint8_t shape) {
  IndexDefinition definition;
  static const char* const names[] = {"a", "b", "a.b", "b.0"};
  const std::size_t fields = 1 + (shape & 3);
  for (std::size_t i = 0; i < fields; ++i) {
    definition.fields.push_back({*FieldPath::parse(names[i]), ((shape >> (2 + i)) & 1) != 0});
  }
  return definition;
}

void check_entry(std::uint8_t shape, const Value& body, std::string_view id) {
  const IndexDefinition definition = definition_of(shape);
  std::string key = "prefix", value;
  if (!append_index_entry(definition, {body.element, body.text, id, {}}, key, value)) {
    require(key == "prefix" && value.empty(), "nothing is appended for a document that is left out");
    return;
  }
  require(key.starts_with("prefix"), "entries are appended");
  key.erase(0, 6);
  const auto row = IndexRow::decode(key, value);
  require(row.has_value(), "an entry reads back");
  require(row->document_id() == id, "with its id");
  std::string_view keys = row->field_keys();
  for (std::size_t i = 0; i < definition.fields.size(); ++i) {
    const bool descending = definition.fields[i].descending;
    const FieldLookup found = find_field(body.element, definition.fields[i].path);
    const std::string_view text = row->field(i);
    require(text.empty() == !found, "and the fields that are there");
    require(is_missing_sort_key(keys, descending) == !found, "whose keys say so too");
    const std::size_t length = sort_key_length(keys, descending);
    if (found) {
      DocumentParser parser;
      const auto parsed = parser.parse(text);
      require(parsed.has_value(), "as JSON");
      std::string expected;
      descending ? append_sort_key_descending(expected, *parsed) : append_sort_key(expected, *parsed);
      require(keys.substr(0, length) == expected, "text and key are of one value");
    }
    keys.remove_prefix(length);
  }
  require(keys.empty(), "nothing else stands in the key");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputReader in(octavo::fuzz::text_of(data, size));
  const std::uint8_t shape = in.byte();
  if (shape & 0x80) {
    // Rows and keys as a damaged file may hold them.
    const std::string_view key = in.bytes(shape & 0x7F);
    if (const auto row = IndexRow::decode(key, in.rest())) {
      std::size_t bytes = row->document_id().size() + row->field_keys().size();
      for (std::size_t i = 0; i < 5; ++i) bytes += row->field(i).size();
      require(row->document_id().size() <= key.size() && bytes >= key.size(), "a row lies within its bytes");
    }
    for (const bool descending : {false, true}) {
      for (const StringOrder order : {StringOrder::icu, StringOrder::bytes, StringOrder::raw}) {
        require(sort_key_length(in.rest(), descending, order) <= in.rest().size(), "a key lies within its bytes");
      }
    }
    return 0;
  }
  static Value values[2];
  Value &a = values[0], &b = values[1];
  for (Value& value : values) {
    value.text.clear();
    value.up.clear();
    value.down.clear();
    value.bytes.clear();
  }
  if (!a.read(in.line()) || !b.read(in.line())) return 0;
  check_order(a, b);
  check_order(b, a);
  if (a.json.is_object()) check_entry(shape, a, in.rest().empty() ? "id" : in.rest().substr(0, 600));
  return 0;
}

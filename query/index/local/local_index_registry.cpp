#include "query/index/local/local_index_registry.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "query/index/automatic_index.h"

namespace octavo::query::registry {

namespace {

constexpr std::size_t identity_bytes = 32;
constexpr std::size_t number_bytes = 4;
/// A number above can only be damage: no partition ever has as many indexes. Those of one call have room above it.
constexpr std::uint32_t last_number_max = 1U << 31;

std::string encode_index(const LocalIndexes::Index& index) {
  OCTAVO_ASSERT(index.definition != nullptr);
  std::string value = index.definition->identity;
  value.resize(identity_bytes, '0');
  ByteWriter writer(value);
  writer.u8(static_cast<std::uint8_t>(index.stage));
  writer.sized_bytes(index.cursor);
  value += serialize_json(index.definition->def_to_json());
  return value;
}

Expected<LocalIndexes::Index> decode_index(std::uint32_t number, std::string_view value) {
  const auto damaged = [number] {
    return fail(ErrorCode::corrupted, "The record of local index " + std::to_string(number) + " is damaged.");
  };
  ByteReader reader(value);
  LocalIndexes::Index index;
  index.number = number;
  IndexDefinition definition;
  definition.partitioned = true;
  definition.identity = reader.bytes(identity_bytes);
  index.stage = static_cast<LocalIndexes::Stage>(reader.u8());
  index.cursor = reader.sized_bytes();
  if (!reader.ok() || index.stage > LocalIndexes::Stage::dropping) return damaged();
  const auto def = parse_json(reader.rest(), LargeIntegers::exact);
  if (!def || !def->is_object() || !def->get_object().contains("fields")) return damaged();
  if (const auto* automatic = def->get_object().if_contains("automatic")) {
    definition.automatic = automatic->is_object() ? AutomaticIndex::from_json(automatic->get_object()) : nullptr;
    if (!definition.automatic) return damaged();
  } else {
    OCTAVO_TRY(definition.fields, parse_ordered_fields(def->get_object().at("fields")));
  }
  if (const auto* filter = def->get_object().if_contains("partial_filter_selector")) {
    OCTAVO_TRY(definition.partial_filter, Selector::parse(*filter));
  }
  index.definition = std::make_shared<const IndexDefinition>(std::move(definition));
  return index;
}

std::uint64_t new_stamp() {
  static thread_local std::mt19937_64 random{std::random_device{}()};
  return random();
}

}  // namespace

void append_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(value >> shift));
}

std::uint32_t read_u32(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4 && i < bytes.size(); ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::string key(char kind) {
  return std::string{0, 0, 0, 0, kind};
}

std::string key(std::uint32_t number) {
  std::string row = key('I');
  append_u32(row, number);
  return row;
}

Expected<LocalIndexes::Indexes> load(const storage::Transaction& transaction, storage::Tree tree) {
  LocalIndexes::Indexes indexes;
  const std::string prefix = key('I');
  storage::Cursor cursor(transaction, tree);
  for (auto row = cursor.seek(prefix); row && row->key.starts_with(prefix); row = cursor.next()) {
    OCTAVO_TRY(auto index, decode_index(read_u32(row->key.substr(prefix.size())), row->value));
    indexes.push_back(std::move(index));
  }
  return indexes;
}

Expected<std::uint32_t> last_number(const storage::Transaction& transaction, storage::Tree tree,
                                    const LocalIndexes::Indexes& all) {
  OCTAVO_TRY(const auto row, transaction.get(tree, key('N')));
  if (!row && all.empty()) return std::uint32_t{0};
  const std::uint32_t number = row ? read_u32(*row) : 0;
  const bool whole = row && row->size() == number_bytes && number <= last_number_max;
  if (!whole || std::ranges::any_of(all, [&](const auto& index) { return index.number > number; })) {
    return fail(ErrorCode::corrupted, "The row of the last number of a local index is damaged.");
  }
  return number;
}

Expected<void> put(storage::WriteTransaction& transaction, storage::Tree tree, const LocalIndexes::Index& index) {
  return transaction.put(tree, key(index.number), encode_index(index));
}

Expected<void> put_stamp(storage::WriteTransaction& transaction, storage::Tree tree) {
  std::string value;
  ByteWriter(value).u64(new_stamp());
  return transaction.put(tree, key('S'), value);
}

bool says_ready(std::string_view value) {
  return value.size() > identity_bytes && value[identity_bytes] == static_cast<char>(LocalIndexes::Stage::ready);
}

}  // namespace octavo::query::registry

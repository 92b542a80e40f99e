#include "query/sql/run/internal/gone_rows.h"

#include <algorithm>

#include "partitioning/keys/range_parts.h"
#include "query/sql/run/internal/entry_keys.h"

namespace octavo::query::sql {

namespace {

// First bytes of the keys of rows that the index had, and of those that were to be read after it.
constexpr char within_part = '\1';
constexpr char after_part = '\2';

// An index is read upwards even for DESC if the condition leaves one value.
bool is_read_downwards(const GoneIndex& index, const Program& program) {
  return index.down ? *index.down : std::ranges::any_of(program.order_by, &SortItem::descending);
}

}  // namespace

GoneRows::GoneRows(const PreparedSql& prepared, const partitioning::Database* database, Evaluation& evaluation,
                   const Combinations& combinations, DocumentParser& parser)
    : prepared_(prepared),
      index_(*prepared.gone_index),
      database_(database),
      evaluation_(evaluation),
      combinations_(combinations),
      parser_(parser),
      down_(is_read_downwards(index_, prepared.query->program())) {}

const std::string* GoneRows::make_key() {
  const storage::DocumentView& document = evaluation_.row.document();
  const auto root = parser_.parse(document.body);
  if (!root || !evaluation_.work(document.body.size())) return nullptr;
  key_.clear();
  auto entry = index_.entry_of({*root, document.body, document.id, document.revision});
  if (!index_.is_part()) {
    if (!entry) return nullptr;
    append_entry(key_, *entry, down_);
    entry_ = *std::move(entry);
  } else {
    const auto part = part_of(document, *root);
    if (!part || *part == Part::before) return nullptr;
    const bool is_within = *part == Part::within && entry;
    key_ += is_within ? within_part : after_part;
    append_entry(key_, is_within ? std::string_view(*entry) : document.id, down_);
  }
  append_positions(key_, combinations_.positions());
  return &key_;
}

std::string GoneRows::key_behind(std::string_view entry, std::span<const std::uint64_t> positions) const {
  std::string key;
  if (index_.is_part()) key += within_part;
  append_position_behind(key, entry, positions, down_);
  return key;
}

bool GoneRows::was_in_partition(std::string_view id) {
  return !index_.partition_id || part_by_partition(id) == Part::within;
}

// Whether the previous pages have read the physical partition of the document, and the side of the union that returns
// it. nullopt: the evaluation failed.
std::optional<GoneRows::Part> GoneRows::part_of(const storage::DocumentView& document, simdjson::dom::element root) {
  const auto part = index_.partition_id ? part_by_partition(document.id) : Part::within;
  return part == Part::within ? part_by_side(document, root) : part;
}

std::optional<GoneRows::Part> GoneRows::part_by_partition(std::string_view id) {
  if (!find_range()) return std::nullopt;
  const auto position = partitioning::hash_position(id, database_->partitioned(), database_->key_scheme());
  if (position < range_->first) return Part::before;
  return position > range_->second ? Part::after : Part::within;
}

// A document is returned by the first side of a union that it matches.
std::optional<GoneRows::Part> GoneRows::part_by_side(const storage::DocumentView& document,
                                                     simdjson::dom::element root) {
  const auto& side = index_.side;
  if (!side) return Part::within;
  const auto sides = std::span(prepared_.sides).first(*side + 1);
  const auto found = first_matching_side(sides, {root, document.body, document.id, document.revision});
  if (!found) {
    evaluation_.fail(found.error());
    return std::nullopt;
  }
  if (*found == sides.size()) return Part::after;
  return *found < *side ? Part::before : Part::within;
}

// False: the evaluation failed.
bool GoneRows::find_range() {
  if (range_) return true;
  // The documents of a source are in no partition: such a continuation is forged.
  const auto range =
      database_ != nullptr ? partitioning::range_ever(database_->partition_map(), *index_.partition_id) : std::nullopt;
  if (!range) {
    evaluation_.fail({ErrorCode::bad_request, std::string(foreign_continuation_reason), {}});
    return false;
  }
  range_.emplace(range->first, range->last);
  return true;
}

}  // namespace octavo::query::sql

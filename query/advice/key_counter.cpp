#include "query/advice/key_counter.h"

#include <algorithm>
#include <utility>

#include "base/murmur3.h"

namespace octavo::query::advice {

namespace {

std::string_view shown_part(std::string_view text) {
  return text.substr(0, ValueTable::shown_bytes_max);
}

}  // namespace

KeyCounter::KeyCounter(KeyCandidate candidate, const partitioning::PartitionMap& ranges)
    : candidate_(std::move(candidate)),
      ranges_(ranges),
      reader_(candidate_),
      range_bytes_(ranges.size()),
      requests_(ranges.size()) {}

std::uint16_t KeyCounter::range_of_key() const {
  return static_cast<std::uint16_t>(ranges_.locate(reader_.position()));
}

void KeyCounter::add(const ScannedDocument& document, std::optional<std::uint32_t> time_s, const PointUse* requested) {
  reader_.read(document);
  if (reader_.is_missing()) ++missing_;
  const std::uint64_t hash = murmur3_x64_128(reader_.text()).high;
  // Before the table leaves out values: from here on the sketch must know the largest ones.
  if (!heavy_ && table_.is_full()) start_heavy();
  std::optional<std::uint16_t> range;
  if (ValueTable::Value* known = table_.find_or_add(hash, reader_.text())) {
    // The key is hashed once per value, not per document.
    if (known->documents == 0) known->range = range_of_key();
    range = known->range;
    known->add(document.bytes, time_s);
  }
  if (heavy_) {
    HeavyNote& note = heavy_->add(shown_part(reader_.text()), hash, static_cast<double>(document.bytes)).note;
    if (note.documents == 0) {
      note.hash = hash;
      note.is_cut = reader_.text().size() > ValueTable::shown_bytes_max;
      note.range = range ? *range : range_of_key();
    }
    range = note.range;
    note.add(document.bytes, time_s);
  }
  range_bytes_[*range] += document.bytes;
  if (requested != nullptr) requests_.add(*requested, hash, reader_.text(), *range);
}

void KeyCounter::start_heavy() {
  std::vector<const ValueTable::Value*> largest;
  for (const ValueTable::Value& value : table_.values()) largest.push_back(&value);
  const auto by_bytes = [](const auto* a, const auto* b) { return a->bytes > b->bytes; };
  const std::size_t count = std::min(heavy_max, largest.size());
  std::ranges::partial_sort(largest, largest.begin() + static_cast<std::ptrdiff_t>(count), by_bytes);
  heavy_ = std::make_unique<HeavyValues>();
  for (std::size_t i = 0; i < count; ++i) {
    const ValueTable::Value& value = *largest[i];
    HeavyNote& note = heavy_->add(table_.text_of(value), value.hash, static_cast<double>(value.bytes)).note;
    static_cast<ValueUse&>(note) = value;
    note.hash = value.hash;
    note.is_cut = value.is_cut;
  }
}

std::vector<LargeValue> KeyCounter::large_values_beyond_table() const {
  std::vector<LargeValue> large;
  if (!heavy_ || table_.sampled_bits() == 0) return large;
  for (const auto& entry : heavy_->entries()) {
    // What may belong to others for the most part is not known to be large.
    if (table_.samples(entry.note.hash) || 2 * entry.error_max > entry.weight) continue;
    LargeValue value{ValueUse(entry.note), entry.key, entry.note.is_cut, static_cast<std::uint64_t>(entry.error_max)};
    value.bytes = static_cast<std::uint64_t>(entry.weight);
    large.push_back(std::move(value));
  }
  return large;
}

}  // namespace octavo::query::advice

#include "query/advice/value_table.h"

#include <utility>

namespace octavo::query::advice {

namespace {

constexpr std::size_t slots_min = 64;

}  // namespace

ValueTable::Value* ValueTable::find_or_add(std::uint64_t hash, std::string_view text) {
  if (!samples(hash)) return nullptr;
  if (slots_.empty()) reindex(slots_min);
  // The upper bits decide about the sample, so the lower ones find the slot.
  const auto slot_of = [&] {
    std::size_t at = hash % slots_.size();
    while (slots_[at] != 0 && values_[slots_[at] - 1].hash != hash) at = at + 1 == slots_.size() ? 0 : at + 1;
    return at;
  };
  std::size_t slot = slot_of();
  if (slots_[slot] != 0) return &values_[slots_[slot] - 1];
  const std::size_t shown = std::min(text.size(), shown_bytes_max);
  while (is_full()) {
    halve();
    if (!samples(hash)) return nullptr;
  }
  if (2 * (values_.size() + 1) > slots_.size()) reindex(2 * slots_.size());
  slot = slot_of();
  Value value;
  value.hash = hash;
  value.text_at = static_cast<std::uint32_t>(texts_.size());
  value.text_bytes = static_cast<std::uint16_t>(shown);
  value.is_cut = shown < text.size();
  values_.push_back(value);
  texts_.append(text.substr(0, shown));
  slots_[slot] = static_cast<std::uint32_t>(values_.size());
  return &values_.back();
}

void ValueTable::halve() {
  ++sampled_bits_;
  std::vector<Value> kept;
  std::string texts;
  for (Value value : values_) {
    if (!samples(value.hash)) continue;
    const std::string_view text = text_of(value);
    value.text_at = static_cast<std::uint32_t>(texts.size());
    texts += text;
    kept.push_back(value);
  }
  values_ = std::move(kept);
  texts_ = std::move(texts);
  reindex(slots_.size());
}

void ValueTable::reindex(std::size_t slots) {
  slots_.assign(slots, 0);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    std::size_t at = values_[i].hash % slots;
    while (slots_[at] != 0) at = at + 1 == slots ? 0 : at + 1;
    slots_[at] = static_cast<std::uint32_t>(i + 1);
  }
}

}  // namespace octavo::query::advice

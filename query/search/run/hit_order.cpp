#include "query/search/run/hit_order.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/assert.h"

namespace octavo::query::search {

namespace {

double radians(double degrees) {
  return degrees * (std::numbers::pi / 180);
}

// The distance on a sphere, by the haversine formula. A document without a place is as far away as possible, as in
// Cloudant.
double distance_from(const SortKey::Origin& origin, double longitude, double latitude) {
  if (std::isnan(longitude) || std::isnan(latitude)) return std::numbers::pi * origin.earth_radius;
  const auto half_sine_squared = [](double degrees) {
    const double sine = std::sin(radians(degrees) / 2);
    return sine * sine;
  };
  const double haversine =
      half_sine_squared(latitude - origin.latitude) + std::cos(radians(latitude)) * std::cos(radians(origin.latitude)) *
                                                          half_sine_squared(longitude - origin.longitude);
  return 2 * origin.earth_radius * std::asin(std::sqrt(std::clamp(haversine, 0.0, 1.0)));
}

}  // namespace

HitOrder::HitOrder(const std::vector<SortKey>& sort, ColumnCache& columns, SearchBudget& budget)
    : columns_(columns), budget_(budget) {
  for (const SortKey& key : sort) keys_.push_back({key, nullptr, nullptr, nullptr});
  if (keys_.empty()) {
    SortKey best_first;
    best_first.descending = true;
    keys_.push_back({std::move(best_first), nullptr, nullptr, nullptr});
  }
  needs_score_ = std::ranges::any_of(keys_, [](const Key& key) { return key.key.kind == SortKey::Kind::score; });
}

void HitOrder::enter_segment(const IndexSnapshot::Segment& segment) {
  for (Key& key : keys_) {
    if (key.key.kind == SortKey::Kind::string) {
      key.strings = columns_.strings(segment.reader, key.key.field, budget_);
      kept_.push_back(key.strings);
    } else if (key.key.kind == SortKey::Kind::number || key.key.kind == SortKey::Kind::distance) {
      key.numbers = columns_.numbers(segment.reader, key.key.field, budget_);
    }
    if (key.key.kind == SortKey::Kind::distance) {
      key.latitudes = columns_.numbers(segment.reader, key.key.latitude_field, budget_);
    }
  }
}

void HitOrder::read(int32_t document, int32_t base, double score, std::vector<OrderSlot>& slots) const {
  slots.resize(keys_.size());
  const auto in_segment = static_cast<std::size_t>(document - base);
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    OrderSlot& slot = slots[i];
    slot = {};
    switch (keys_[i].key.kind) {
      case SortKey::Kind::score:
        slot.number = score;
        break;
      case SortKey::Kind::document:
        slot.number = document;
        break;
      case SortKey::Kind::number:
        OCTAVO_ASSERT(in_segment < keys_[i].numbers->value_of.size());
        slot.number = keys_[i].numbers->value_of[in_segment];
        slot.missing = std::isnan(slot.number);
        break;
      case SortKey::Kind::distance:
        OCTAVO_ASSERT(in_segment < keys_[i].numbers->value_of.size());
        OCTAVO_ASSERT(in_segment < keys_[i].latitudes->value_of.size());
        slot.number = distance_from(keys_[i].key.origin, keys_[i].numbers->value_of[in_segment],
                                    keys_[i].latitudes->value_of[in_segment]);
        break;
      case SortKey::Kind::string: {
        OCTAVO_ASSERT(in_segment < keys_[i].strings->value_of.size());
        const std::uint32_t value = keys_[i].strings->value_of[in_segment];
        slot.missing = value == StringColumn::none;
        if (!slot.missing) slot.text = keys_[i].strings->value(value);
        break;
      }
    }
  }
}

int HitOrder::compare(const std::vector<OrderSlot>& a, const std::vector<OrderSlot>& b) const {
  OCTAVO_ASSERT(a.size() >= keys_.size() && b.size() >= keys_.size());
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    int order = 0;
    if (a[i].missing || b[i].missing) {
      order = static_cast<int>(b[i].missing) - static_cast<int>(a[i].missing);
    } else if (keys_[i].key.kind == SortKey::Kind::string) {
      order = a[i].text.compare(b[i].text);
    } else {
      order = a[i].number < b[i].number ? -1 : static_cast<int>(a[i].number > b[i].number);
    }
    if (order != 0) return keys_[i].key.descending ? -order : order;
  }
  return 0;
}

std::vector<OrderValue> HitOrder::bookmark_values(const FoundDocument& found) const {
  std::vector<OrderValue> values;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const OrderSlot& slot = found.slots[i];
    if (slot.missing) {
      values.emplace_back(std::monostate{});
    } else if (keys_[i].key.kind == SortKey::Kind::string) {
      values.emplace_back(std::string(slot.text));
    } else {
      values.emplace_back(slot.number);
    }
  }
  return values;
}

std::vector<OrderValue> HitOrder::values(const FoundDocument& found) const {
  auto values = bookmark_values(found);
  values.emplace_back(static_cast<double>(found.document));
  return values;
}

std::optional<std::vector<OrderSlot>> HitOrder::slots_of(const std::vector<OrderValue>& values) const {
  if (values.size() != keys_.size()) return std::nullopt;
  std::vector<OrderSlot> slots;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    OrderSlot slot;
    const bool is_text = keys_[i].key.kind == SortKey::Kind::string;
    if (const auto* number = std::get_if<double>(&values[i]); number != nullptr && !is_text) {
      slot.number = *number;
    } else if (const auto* text = std::get_if<std::string>(&values[i]); text != nullptr && is_text) {
      slot.text = *text;
    } else if (std::holds_alternative<std::monostate>(values[i])) {
      slot.missing = true;
    } else {
      return std::nullopt;
    }
    slots.push_back(slot);
  }
  return slots;
}

bool TopHits::before(const FoundDocument& a, const FoundDocument& b) const {
  const int order = order_.compare(a.slots, b.slots);
  return order != 0 ? order < 0 : a.document < b.document;
}

void TopHits::offer(int32_t document, const std::vector<OrderSlot>& slots) {
  if (limit_ == 0) return;
  const auto later_on_top = [this](const FoundDocument& a, const FoundDocument& b) { return before(a, b); };
  if (heap_.size() == limit_) {
    // Documents are offered in the order of their numbers, so among equal ones this is the last.
    if (order_.compare(slots, heap_.front().slots) >= 0) return;
    std::ranges::pop_heap(heap_, later_on_top);
    heap_.back().document = document;
    heap_.back().slots = slots;
  } else {
    heap_.push_back({document, slots});
  }
  std::ranges::push_heap(heap_, later_on_top);
}

std::vector<FoundDocument> TopHits::take() {
  std::ranges::sort(heap_, [this](const FoundDocument& a, const FoundDocument& b) { return before(a, b); });
  return std::move(heap_);
}

}  // namespace octavo::query::search

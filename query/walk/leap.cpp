#include "query/walk/leap.h"

#include "base/assert.h"

namespace octavo::query {

namespace {

// After leap_looks_to_learn lookups, a stream is used only while one lookup in leap_spared_min skips a document.
constexpr std::uint32_t leap_looks_to_learn = 32;
constexpr std::uint32_t leap_spared_min = 3;
constexpr std::uint32_t leap_in_vain_max = 8;

}  // namespace

Expected<Leap> Leap::open(partitioning::Database& database, const Branch& branch, const IndexScope& scope,
                          LeapState& state, std::function<bool()> is_over) {
  Leap leap(state, std::move(is_over));
  state.streams.resize(branch.leaps.size());
  for (const LeapStream& stream : branch.leaps) {
    Values values;
    for (const KeyRange& range : stream.values) {
      OCTAVO_TRY(auto reader, IndexReader::open(database, stream.index, scope));
      // A value without entries is never sought again. This is frequent: most strings have no other spelling.
      const auto entry = reader.seek(range.begin);
      if (entry && entry->key < range.end) values.push_back({&range, std::move(reader)});
    }
    leap.streams_.push_back(std::move(values));
  }
  return leap;
}

// The lowest id, from `id` on, that has one of the values.
std::optional<std::string> Leap::seek(Values& values, std::string_view id, std::uint64_t& keys_examined) {
  std::optional<std::string> lowest;
  for (Value& value : values) {
    ++keys_examined;
    sought_.assign(value.range->begin).append(id);
    const auto entry = value.reader.seek(sought_);
    if (!entry || entry->key >= value.range->end) continue;
    const std::string_view found = entry->key.substr(value.range->begin.size());
    if (!lowest || found < *lowest) lowest = found;
    if (*lowest == id) break;
  }
  return lowest;
}

std::optional<std::string> Leap::next(std::string_view id, std::uint64_t& keys_examined) {
  if (state_->loaded && ++state_->in_vain >= leap_in_vain_max) {
    state_->in_vain = 0;
    for (auto& stream : state_->streams) {
      if (stream.rests) stream = {};
    }
  }
  state_->loaded = false;
  OCTAVO_ASSERT(state_->streams.size() == streams_.size());
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    auto& stream = state_->streams[i];
    if (stream.rests) continue;
    auto found = seek(streams_[i], id, keys_examined);
    ++stream.looked;
    if (!found) return std::nullopt;
    if (*found != id) {
      ++stream.spared;
      return found;
    }
    stream.rests = stream.looked >= leap_looks_to_learn && stream.spared * leap_spared_min < stream.looked;
  }
  state_->loaded = true;
  return std::string(id);
}

}  // namespace octavo::query

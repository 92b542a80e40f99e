#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace octavo::query::advice {

/// What is known of the documents with one value of a partition key.
struct ValueUse {
  std::uint64_t bytes = 0;
  std::uint32_t documents = 0;
  std::uint32_t first_s = UINT32_MAX;  ///< time of the first document; above last_s: no document has a time
  std::uint32_t last_s = 0;
  std::uint16_t range = 0;  ///< number of the range of the hash space that the value is in

  void add(std::uint64_t document_bytes, std::optional<std::uint32_t> time_s) {
    bytes += document_bytes;
    ++documents;
    if (!time_s) return;
    first_s = std::min(first_s, *time_s);
    last_s = std::max(last_s, *time_s);
  }
  bool has_times() const { return first_s <= last_s; }
};

/// Exact statistics of each value, while there are few; of more values than that, exact statistics of a random sample.
/// The sample has the values whose hashes begin with sampled_bits() zeros (adaptive sampling: Wegman; Flajolet 1990). A
/// value that is in the sample at the end was in it from its first document on, so its statistics lack nothing.
///
/// At most 7 MB. Adding is O(1), except when the sample is halved. Not thread-safe.
class ValueTable {
 public:
  static constexpr std::size_t values_max = 65'536;
  static constexpr std::size_t text_bytes_max = 3ULL << 20;  ///< of all values together
  static constexpr std::size_t shown_bytes_max = 256;        ///< of the text of one value; the rest is not kept

  struct Value : ValueUse {
    std::uint64_t hash = 0;
    std::uint32_t text_at = 0;
    std::uint16_t text_bytes = 0;
    bool is_cut = false;  ///< the text is only the beginning
  };

  /// The value with this hash, which stands for the text; `documents` is 0 if it is new. Null: it is not in the sample.
  /// Valid until the next call. Throws std::bad_alloc.
  Value* find_or_add(std::uint64_t hash, std::string_view text);

  std::span<const Value> values() const { return values_; }
  std::string_view text_of(const Value& value) const {
    return std::string_view(texts_).substr(value.text_at, value.text_bytes);
  }
  /// The next new value may halve the sample.
  bool is_full() const { return values_.size() == values_max || texts_.size() + shown_bytes_max > text_bytes_max; }
  bool samples(std::uint64_t hash) const { return sampled_bits_ == 0 || hash >> (64 - sampled_bits_) == 0; }
  /// Each value is in the sample with probability 2^-sampled_bits(); 0: all are.
  unsigned sampled_bits() const { return sampled_bits_; }

 private:
  void halve();
  void reindex(std::size_t slots);

  unsigned sampled_bits_ = 0;
  std::vector<Value> values_;
  std::string texts_;
  std::vector<std::uint32_t> slots_;  ///< open addressing: number of the value + 1, by hash
};

}  // namespace octavo::query::advice

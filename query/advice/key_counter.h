#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sketch/space_saving.h"
#include "partitioning/keys/partition_map.h"
#include "query/advice/key_candidate.h"
#include "query/advice/requested_documents.h"
#include "query/advice/value_table.h"

namespace octavo::query::advice {

/// A value whose documents have many bytes.
struct LargeValue : ValueUse {
  std::string text;             ///< JSON (KeyReader::text)
  bool is_cut = false;          ///< the text is only the beginning
  std::uint64_t error_max = 0;  ///< at most this part of `bytes` belongs to other values
};

/// Counts the documents of a scan by the values of one candidate: exactly while a ValueTable has them all; beyond that,
/// by its sample of the values, and the largest values. At most 8 MB. Not thread-safe.
class KeyCounter {
 public:
  /// Every value with more than 2 / heavy_max of all bytes is known, however many values there are.
  static constexpr std::size_t heavy_max = 1'024;

  /// `ranges`: the physical partitions for which bytes are counted, with the ids 0, 1, … in the order of the hash
  /// space; it must outlive the counter.
  KeyCounter(KeyCandidate candidate, const partitioning::PartitionMap& ranges);
  KeyCounter(const KeyCounter&) = delete;
  KeyCounter& operator=(const KeyCounter&) = delete;

  /// `requested`: the recorded requests for the document; null: none. About O(1). Throws std::bad_alloc.
  void add(const ScannedDocument& document, std::optional<std::uint32_t> time_s, const PointUse* requested = nullptr);

  const KeyCandidate& candidate() const { return candidate_; }
  /// Documents that lack a value of the key.
  std::uint64_t missing() const { return missing_; }
  /// By range of the hash space.
  const std::vector<std::uint64_t>& range_bytes() const { return range_bytes_; }
  const ValueTable& table() const { return table_; }
  const RequestCounter& requests() const { return requests_; }
  /// Values that are surely large, and not in the table; none while the table has all. Of values of about the same size
  /// none is surely large.
  std::vector<LargeValue> large_values_beyond_table() const;

 private:
  struct HeavyNote : ValueUse {
    std::uint64_t hash = 0;
    bool is_cut = false;
  };
  using HeavyValues = SpaceSaving<HeavyNote, heavy_max>;

  void start_heavy();
  std::uint16_t range_of_key() const;

  const KeyCandidate candidate_;
  const partitioning::PartitionMap& ranges_;
  KeyReader reader_;  ///< of candidate_
  ValueTable table_;
  std::unique_ptr<HeavyValues> heavy_;  ///< since the table was full
  std::uint64_t missing_ = 0;
  std::vector<std::uint64_t> range_bytes_;
  RequestCounter requests_;
};

}  // namespace octavo::query::advice

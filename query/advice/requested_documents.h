#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "partitioning/throughput/point_requests.h"

namespace octavo::query::advice {

/// Sampled requests that read or wrote one document by its id.
struct PointUse {
  std::uint32_t reads = 0;
  std::uint32_t writes = 0;
  double request_units = 0;

  std::uint32_t requests() const { return reads + writes; }
  void add(const PointUse& other) {
    reads += other.reads;
    writes += other.writes;
    request_units += other.request_units;
  }
};

/// The point requests to a database, for a scan that meets the documents. A value type.
class RequestedDocuments {
 public:
  explicit RequestedDocuments(const std::vector<partitioning::PointRequests::Entry>& recorded);

  /// Those for this document; null: none was recorded. Hashes the id, if any request was recorded.
  const PointUse* find(std::string_view document_id) const;

  const PointUse& all() const { return all_; }
  /// Unix time of the first request that is still known; 0 without requests.
  std::uint32_t since_s() const { return since_s_; }

 private:
  std::unordered_map<partitioning::PointRequests::DocumentHash, PointUse> uses_;
  PointUse all_;
  std::uint32_t since_s_ = 0;
};

/// A value of a key, and the requests for its documents.
struct RequestedValue : PointUse {
  std::string text;        ///< JSON (KeyReader::text)
  bool is_cut = false;     ///< the text is only the beginning
  double share = 0;        ///< of the request units of all that were recorded for present documents
  double share_error = 0;  ///< with 95 %: the requests are a sample
};

/// How the point requests would be divided by a key.
struct PointAdvice {
  static constexpr std::size_t hottest_max = 10;

  PointUse found;                       ///< requests for documents that are there
  std::vector<RequestedValue> hottest;  ///< the largest share first
  std::vector<double> physical_shares;
  std::optional<double> usable;  ///< request units per second that the hottest value allows; nullopt: unknown
};

/// Divides point requests by the values of one key. The values are as many as the recorded requests, at most. Not
/// thread-safe.
class RequestCounter {
 public:
  explicit RequestCounter(std::size_t ranges) : by_range_(ranges) {}

  void add(const PointUse& use, std::uint64_t hash, std::string_view text, std::size_t range);
  /// nullopt: no request was recorded for a document that is there. `throughput`: request units per second that are to
  /// be used.
  std::optional<PointAdvice> advice(std::optional<std::uint32_t> throughput) const;

 private:
  std::unordered_map<std::uint64_t, RequestedValue> values_;  ///< by the hash of their texts
  std::vector<double> by_range_;
  PointUse all_;
};

}  // namespace octavo::query::advice

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "partitioning/throughput/request_charge.h"

namespace octavo::partitioning {

/// A sample of the requests that read or write one document by its id, for advice on partition keys: one in mean_gap on
/// average, of which the last kept_max are kept. A document is known by a hash of its id with a key that is random for
/// each run of the process: there are no ids, no values, and nothing is on disk.
///
/// Thread-safe. A request that is not sampled costs a decrement of a number of its thread. Never throws for lack of
/// memory: it drops the request then.
class PointRequests {
 public:
  static constexpr std::uint32_t mean_gap = 64;
  static constexpr std::size_t kept_max = 4'096;
  /// Of the process; further databases are not sampled until others are forgotten: 48 MB.
  static constexpr std::size_t rings_max = 512;

  enum class Kind : std::uint8_t { read, write };
  using DocumentHash = std::uint64_t;
  struct Entry {
    DocumentHash document = 0;
    std::uint32_t second = 0;  ///< Unix time
    float request_units = 0;
    Kind kind = Kind::read;
  };

  PointRequests();
  PointRequests(const PointRequests&) = delete;
  PointRequests& operator=(const PointRequests&) = delete;
  ~PointRequests();

  void note(std::string_view document_id, Kind kind, RequestUnits units) noexcept {
    if (const auto document = sample(document_id)) add(*document, kind, units);
  }
  /// The two halves of note(), for requests whose charge is known later. nullopt: the request is not sampled.
  static std::optional<DocumentHash> sample(std::string_view document_id) noexcept {
    if (--requests_to_skip_ > 0) [[likely]]
      return std::nullopt;
    return sample_now(document_id);
  }
  void add(DocumentHash document, Kind kind, RequestUnits units) noexcept;

  /// By what entries know the document with this id.
  static DocumentHash hash_of(std::string_view document_id) noexcept;
  /// The oldest first.
  std::vector<Entry> recorded() const;
  /// Drops everything if nothing was recorded since the last call. For databases that are not used.
  void forget_if_idle();

 private:
  struct Ring;

  static std::optional<DocumentHash> sample_now(std::string_view document_id) noexcept;
  void forget();

  static constinit thread_local std::int32_t requests_to_skip_;
  mutable std::mutex mutex_;  ///< guards the members below
  std::unique_ptr<Ring> ring_;
  bool is_used_ = false;  ///< since the last forget_if_idle()
};

}  // namespace octavo::partitioning

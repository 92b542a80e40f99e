#pragma once

#include <cstdint>
#include <string>

#include "bench/http_client.h"

namespace octavo::bench {

/// The documents all measurements run on: `count` documents of about 400 bytes in logical partitions of 100. In each
/// partition 25 documents have each of four kinds; each customer has 25 documents, spread over the partitions.
struct DataSet {
  std::string database = "bench";
  std::uint64_t count = 0;
  bool as_items = false;  ///< with `id` and the partition key as `pk`, as items of the Azure Cosmos DB API have them

  static constexpr std::uint64_t documents_per_partition = 100;
  static constexpr std::uint64_t documents_per_customer = 25;

  std::uint64_t partitions() const { return count / documents_per_partition; }
  std::uint64_t customers() const { return count / documents_per_customer; }

  static std::string partition(std::uint64_t number);
  static std::string id(std::uint64_t number);
  /// `number` as it is stored; with `_id` when `with_id`.
  std::string document(std::uint64_t number, bool with_id) const;

  /// Creates the database and writes all documents by _bulk_docs over several connections. Returns documents per
  /// second.
  double fill(std::uint16_t port, unsigned q) const;
  /// Does the same as fill(), into an existing database. `database`: the name as paths have it.
  double write_all(std::uint16_t port) const;
};

/// A cheap generator for picking documents; good enough to defeat locality.
class Random {
 public:
  std::uint64_t below(std::uint64_t bound);

 private:
  std::uint64_t state_ = 0x853c49e6748fea9b;
};

}  // namespace octavo::bench

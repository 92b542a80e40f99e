#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <unordered_set>

#include "base/function_ref.h"
#include "partitioning/scan.h"

namespace octavo::query::advice {

/// Visits documents of a database that are chosen at random, each with the same probability: draws sequences, and takes
/// only those that are a document's newest change. The next row instead would prefer documents after gaps, and
/// neighbours by id share a key. Design documents and deleted ones are not visited. Holds no snapshot between calls.
/// One thread at a time.
class DocumentSample {
 public:
  static constexpr std::size_t size = 20'000;
  /// Fewer hits of draws than one in this number make a scan of all documents cheaper.
  static constexpr std::uint64_t draws_per_hit_max = 64;

  explicit DocumentSample(partitioning::Database& database);

  /// A sample is not worthwhile: there are few documents, or most changes of them were replaced by later ones. Draws
  /// some sequences. Errors: those of the storage.
  Expected<bool> is_worthwhile();

  /// Errors: those of the storage.
  Expected<partitioning::ScanState> run(partitioning::ScanBudget budget,
                                        FunctionRef<void(const storage::DocumentView&)> visit);

  /// Live documents of the database when the sample began.
  std::uint64_t population() const { return population_; }

 private:
  Expected<bool> draw(FunctionRef<void(const storage::DocumentView&)> visit);

  partitioning::Database& database_;
  std::mt19937_64 random_{std::random_device{}()};
  std::uniform_int_distribution<storage::Sequence> sequences_;
  std::unordered_set<storage::Sequence> drawn_;
  std::uint64_t population_ = 0;
  std::size_t hits_ = 0;
};

}  // namespace octavo::query::advice

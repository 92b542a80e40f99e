#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "query/advice/index/value_statistics.h"
#include "query/advice/query_outline.h"
#include "query/plan/planner.h"

namespace octavo::query::advice {

/// Where a number of rows comes from; the last one is the least certain.
enum class RowSource : std::uint8_t {
  recorded,  ///< the recorded queries found so many
  average,   ///< all values of a property are taken to have as many documents
  assumed,   ///< of the documents, a range is taken to have a fixed share
};

/// What a scan has found in a database.
struct ScannedDocuments {
  const ValueStatistics& values;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;               ///< of ids and bodies
  std::uint64_t logical_partitions = 0;  ///< 0: the database has none
};

/// The planner's view of a database for the queries of one shape, whose values are unknown, with indexes that need not
/// exist:
///
/// - a value of one or several properties has the mean number of documents, and not fewer than the recorded queries
///   found;
/// - a range with a lower or an upper bound has a third of the documents, one with both a ninth, unless the number that
///   the recorded queries found tells its share;
/// - what the recorded queries found is the number for indexes that express all conditions.
class ShapeStatistics final : public PlannerStatistics {
 public:
  /// `matches`: mean number of documents that the recorded queries matched; nullopt: unknown. All must outlive this.
  ShapeStatistics(const ScannedDocuments& scanned, const QueryOutline& outline, std::optional<double> matches);

  Expected<Documents> documents() override;
  Expected<std::uint64_t> entries(const IndexView& index) override;
  Expected<RowCount> size(const IndexView& index, std::span<const KeyRange> ranges) override;
  Expected<RowCount> size_in(const IndexView& index, const IndexBounds& bounds) override;
  Expected<RowCount> size_of_ids(std::span<const IdRange> ranges) override;

  /// The least certain source since the last call.
  RowSource take_source();

  /// The sets of properties that size_in() asks for, for an index with these bounds.
  static void expect(ValueStatistics& values, const IndexDefinition& index, const IndexBounds& bounds,
                     bool in_partition);
  /// The set that all queries need: the properties with one value.
  static void expect(ValueStatistics& values, const QueryOutline& outline);

 private:
  double rows_of_value(std::span<const FieldPath> paths);
  double range_share(const IndexBounds& bounds, std::span<const FieldPath> before, const FieldPath& path);
  void note(RowSource source) { source_ = std::max(source_, source); }

  const ScannedDocuments& scanned_;
  const QueryOutline& outline_;
  const bool in_partition_;
  std::optional<double> matches_;
  bool has_others_ = true;             ///< there are conditions that an index cannot express
  std::optional<double> known_share_;  ///< of each range, as the recorded queries tell it
  double documents_ = 0;               ///< in the scope of a query
  RowSource source_ = RowSource::recorded;
};

}  // namespace octavo::query::advice

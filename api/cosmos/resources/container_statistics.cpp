#include "api/cosmos/resources/container_statistics.h"

#include "api/models/partition_key_json.h"

namespace octavo::api::cosmos {

Expected<void> add_statistics(const partitioning::Database& database, const ContainerDefinition& container,
                              boost::json::object& shown) {
  constexpr std::size_t keys_shown = 3;  // as in Azure Cosmos DB
  const auto budget = database.meter().budget();
  boost::json::array all;
  for (const std::size_t partition_id : database.partition_ids()) {
    OCTAVO_TRY(const auto snapshot, database.snapshot(partition_id));
    OCTAVO_TRY(const auto documents, snapshot.statistics());
    const auto report = database.meter().report(partition_id, keys_shown);
    boost::json::array keys;
    for (const auto& hot : report.hot_keys) {
      OCTAVO_TRY(const auto stored, snapshot.statistics_of(hot.partition_key));
      keys.push_back(
          boost::json::object{{"partitionKey", partition_key_json(hot.partition_key, container.hierarchical())},
                              {"sizeInKB", (stored.external_bytes + 1023) / 1024},
                              {"_requestUnits", hot.units}});
    }
    boost::json::object one{{"id", std::to_string(partition_id)},
                            {"sizeInKB", (documents.external_bytes + 1023) / 1024},
                            {"documentCount", documents.document_count},
                            {"partitionKeys", std::move(keys)},
                            {"_requestUnitsLastSecond", report.last_second},
                            {"_requestUnitsPerSecondLastMinute", report.last_minute / 60},
                            {"_requestsRefused", report.refused}};
    if (budget && budget->rate() != 0) {
      one["_normalizedConsumption"] =
          report.last_second * static_cast<double>(budget->shares()) / static_cast<double>(budget->rate());
    }
    all.push_back(std::move(one));
  }
  shown["statistics"] = std::move(all);
  return {};
}

}  // namespace octavo::api::cosmos

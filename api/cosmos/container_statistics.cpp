#include "api/cosmos/container_statistics.h"

#include "partitioning/typed_key.h"

namespace octavo::api::cosmos {

namespace {

boost::json::value key_as_json(std::string_view text, bool hierarchical) {
  const auto key = partitioning::TypedKey::decode(text, hierarchical);
  if (!key) return boost::json::value(text);  // of a document that came in by the other door
  boost::json::array values;
  for (const auto& value : key->values()) {
    if (const auto* string = std::get_if<std::string>(&value)) {
      values.emplace_back(*string);
    } else if (const auto* number = std::get_if<double>(&value)) {
      values.emplace_back(*number);
    } else if (const auto* boolean = std::get_if<bool>(&value)) {
      values.emplace_back(*boolean);
    } else if (std::holds_alternative<partitioning::NullValue>(value)) {
      values.emplace_back(nullptr);
    } else {
      values.emplace_back(boost::json::object());
    }
  }
  return values;
}

}  // namespace

Expected<void> add_statistics(const partitioning::Database& database, const ContainerDefinition& container,
                              boost::json::object& shown) {
  constexpr std::size_t kKeysShown = 3;  // as Azure Cosmos DB
  const auto budget = database.consumption().budget();
  boost::json::array all;
  for (std::size_t place = 0; place < database.physical_partition_count(); ++place) {
    OCTAVO_TRY(const auto snapshot, database.snapshot(place));
    OCTAVO_TRY(const auto documents, snapshot.statistics());
    const auto report = database.consumption().report(place, kKeysShown);
    boost::json::array keys;
    for (const auto& hot : report.hot_keys) {
      OCTAVO_TRY(const auto stored, snapshot.statistics_of(hot.partition_key));
      keys.push_back(boost::json::object{{"partitionKey", key_as_json(hot.partition_key, container.hierarchical())},
                                         {"sizeInKB", (stored.external_bytes + 1023) / 1024},
                                         {"_requestUnits", hot.units}});
    }
    boost::json::object one{{"id", std::to_string(place)},
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

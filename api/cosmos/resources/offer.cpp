#include "api/cosmos/resources/offer.h"

#include <utility>

#include <boost/json.hpp>

#include "api/models/resource_id.h"

namespace octavo::api::cosmos {

Offer Offer::of(const DatabaseDefinition& definition) {
  return {.id = definition.offer_rid,
          .etag = definition.offer_etag,
          .resource_link = definition.self_link(),
          .resource_rid = show_rid(definition.rid),
          .database = definition.id,
          .container = {},
          .throughput = *definition.throughput,
          .modified_s = definition.modified_s};
}

Offer Offer::of(std::string_view database, const ContainerDefinition& definition) {
  return {.id = definition.offer_rid,
          .etag = definition.offer_etag,
          .resource_link = definition.self_link(),
          .resource_rid = show_rid(definition.rid),
          .database = std::string(database),
          .container = definition.id,
          .throughput = *definition.throughput,
          .modified_s = definition.modified_s};
}

std::string Offer::to_json() const {
  namespace json = boost::json;
  json::object content{
      {"offerThroughput", throughput.highest()},
      {"offerIsRUPerMinuteThroughputEnabled", false},
      {"offerMinimumThroughputParameters", json::object{{"maxThroughputEverProvisioned", throughput.highest()},
                                                        {"maxConsumedStorageEverInKB", stored_bytes / 1024}}}};
  if (replace_pending) content["isOfferReplacePending"] = true;
  if (throughput.autoscale_max != 0) {
    content["offerThroughput"] = throughput.autoscale_max / 10;
    json::object settings{{"maxThroughput", throughput.autoscale_max}};
    if (throughput.increment_percent) {
      settings["autoUpgradePolicy"] =
          json::object{{"throughputPolicy", json::object{{"incrementPercent", *throughput.increment_percent}}}};
    }
    content["offerAutopilotSettings"] = std::move(settings);
  }
  return json::serialize(json::object{{"resource", resource_link},
                                      {"offerType", "Invalid"},
                                      {"offerResourceId", resource_rid},
                                      {"offerVersion", "V2"},
                                      {"content", std::move(content)},
                                      {"id", id},
                                      {"_rid", id},
                                      {"_self", "offers/" + id + "/"},
                                      {"_etag", '"' + etag + '"'},
                                      {"_ts", modified_s}});
}

}  // namespace octavo::api::cosmos

#include "api/cosmos/resources/database_definition.h"

#include <boost/json.hpp>

#include "api/models/resource_id.h"
#include "query/json/parsed_document.h"

namespace octavo::api::cosmos {

namespace {

namespace json = boost::json;

}  // namespace

std::string DatabaseDefinition::self_link() const {
  return "dbs/" + show_rid(rid) + "/";
}

std::string DatabaseDefinition::to_stored() const {
  json::object stored{{"rid", show_rid(rid)},
                      {"etag", etag},
                      {"modified_s", modified_s},
                      {"offer_rid", offer_rid},
                      {"offer_etag", offer_etag}};
  if (throughput) stored["throughput"] = cosmos::to_json(*throughput);
  return json::serialize(stored);
}

Expected<DatabaseDefinition> DatabaseDefinition::from_stored(std::string_view id, std::string_view text) {
  const auto damaged = [] { return fail(ErrorCode::corrupted, "The stored definition of a database is damaged."); };
  const auto value = query::parse_json(text);
  if (!value || !value->is_object()) return damaged();
  const auto& stored = value->get_object();
  const auto rid = parse_rid(query::text_member(stored, "rid"));
  if (!rid || rid->size() != 4) return damaged();
  DatabaseDefinition definition;
  definition.id = id;
  definition.rid = *rid;
  definition.etag = query::text_member(stored, "etag");
  const auto* modified = stored.if_contains("modified_s");
  definition.modified_s = modified != nullptr && modified->is_int64() ? modified->get_int64() : 0;
  if (const auto* throughput = stored.if_contains("throughput")) {
    definition.throughput = throughput_from_json(*throughput);
  }
  definition.offer_rid = query::text_member(stored, "offer_rid");
  definition.offer_etag = query::text_member(stored, "offer_etag");
  return definition;
}

std::string DatabaseDefinition::to_json() const {
  return json::serialize(json::object{{"id", id},
                                      {"_rid", show_rid(rid)},
                                      {"_self", self_link()},
                                      {"_etag", '"' + etag + '"'},
                                      {"_colls", "colls/"},
                                      {"_users", "users/"},
                                      {"_ts", modified_s}});
}

}  // namespace octavo::api::cosmos

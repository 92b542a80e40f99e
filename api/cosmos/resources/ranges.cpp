// /dbs/{db}/colls/{coll}/pkranges: the physical partitions, for clients that send requests to each of them.
#include <fmt/format.h>

#include "api/cosmos/call/capabilities.h"
#include "api/cosmos/call/feed_page.h"
#include "api/cosmos/resources/resource_handlers.h"
#include "api/models/container_definition.h"
#include "api/models/errors.h"
#include "api/models/resource_id.h"
#include "base/ascii_case.h"
#include "base/encoding.h"
#include "partitioning/keys/typed_key.h"

namespace octavo::api::cosmos {

namespace {

std::string range_rid(const ContainerDefinition& container, std::size_t index) {
  std::string bytes = container.rid;
  for (int shift = 0; shift < 56; shift += 8) bytes.push_back(static_cast<char>((index + 2) >> shift));
  bytes.push_back('\x50');  // kind of resource: a partition key range
  return show_rid(bytes);
}

}  // namespace

Handled serve_ranges(Call& call) {
  const Method method = call.request.method;
  if (!call.path.feed || (method != Method::get && method != Method::head)) co_return method_not_allowed();
  OCTAVO_CO_TRY(const auto opened, co_await open_container(call));
  const auto& container = *opened.definition;
  const auto& map = opened.database->partition_map();
  const auto& ranges = map.ranges();

  if (!knows_merges(call.request)) opened.database->note_client_without_merges();
  const std::string etag = fmt::format("\"{}\"", map.generation());
  if (const auto known = call.request.header("If-None-Match"); known && *known == etag) {
    Reply reply;
    reply.status = 304;
    reply.content_type = {};
    reply.headers.emplace_back("etag", etag);
    co_return reply;
  }
  std::vector<std::string> items;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const bool last = i + 1 == ranges.size();
    const std::size_t id = map.partition_ids()[i];
    const std::string rid = range_rid(container, id);
    std::string parents;
    for (const std::uint32_t ancestor : ranges[i].ancestors) {
      parents += fmt::format("{}\"{}\"", parents.empty() ? "" : ",", ancestor);
    }
    items.push_back(fmt::format(
        R"({{"_rid":"{}","id":"{}","_etag":"\"{}\"","minInclusive":"{}","maxExclusive":"{}","ridPrefix":{},)"
        R"("_self":"{}pkranges/{}/","throughputFraction":{:.6f},"status":"online","parents":[{}],"_ts":{}}})",
        rid, id, container.etag,
        upper_case(crypto::hex_encode(partitioning::effective_bound(ranges[i].first, container.key_scheme))),
        last ? "FF"
             : upper_case(crypto::hex_encode(partitioning::effective_bound(ranges[i + 1].first, container.key_scheme))),
        id, container.self_link(), rid, 1.0 / static_cast<double>(ranges.size()), parents,
        opened.database->created_s()));
  }
  auto reply = feed_reply(show_rid(container.rid), "PartitionKeyRanges", items, std::nullopt);
  reply.headers.emplace_back("etag", etag);
  co_return reply;
}

}  // namespace octavo::api::cosmos

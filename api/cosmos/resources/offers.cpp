// /offers and /offers/{id}: provisioned throughput.
#include "api/cosmos/call/feed_page.h"
#include "api/cosmos/resources/registry.h"
#include "api/cosmos/resources/resource_handlers.h"
#include "api/models/errors.h"

namespace octavo::api::cosmos {

namespace {

// Clients query one offer with `SELECT * from root where root.resource = "dbs/…/"`: returns the text in quotes. Other
// queries of offers return all of them.
std::string quoted_link(std::string_view query) {
  const std::size_t start = query.find("\"dbs/");
  const std::size_t begin = start == std::string_view::npos ? query.find("'dbs/") : start;
  if (begin == std::string_view::npos) return {};
  const std::size_t end = query.find(query[begin], begin + 1);
  return end == std::string_view::npos ? std::string() : std::string(query.substr(begin + 1, end - begin - 1));
}

Expected<std::string> wanted_link(const Request& request) {
  if (request.method != Method::post) return std::string();
  OCTAVO_TRY(const auto body, json_body(request));
  const auto* query = body.if_contains("query");
  if (query == nullptr || !query->is_string()) return fail(ErrorCode::bad_request, "The body must have a query.");
  std::string link = quoted_link(std::string_view(query->get_string()));
  if (const auto* list = body.if_contains("parameters"); link.empty() && list != nullptr && list->is_array()) {
    for (const auto& parameter : list->get_array()) {
      const auto* value = parameter.is_object() ? parameter.get_object().if_contains("value") : nullptr;
      if (value != nullptr && value->is_string()) link = value->get_string();
    }
  }
  return link;
}

Reply offer_reply(const Offer& offer) {
  Reply reply = resource_reply(200, offer.to_json(), offer.etag);
  reply.headers.emplace_back("x-ms-cosmos-min-throughput", std::to_string(offer.lowest()));
  return reply;
}

// Offers that are asked for one by one have the bytes stored, by which their lowest throughput grows. A list does not:
// it would open all databases.
Expected<std::vector<Offer>> wanted_offers(const Registry& registry, std::string_view id, std::string_view link) {
  OCTAVO_TRY(auto offers, registry.offers());
  if (id.empty() && link.empty()) return offers;
  std::erase_if(offers, [&](const Offer& offer) {
    return id.empty() ? offer.resource_link != link && offer.resource_rid != link : offer.id != id;
  });
  for (Offer& offer : offers) OCTAVO_TRY_VOID(registry.measure(offer));
  return offers;
}

Handled replace_offer(Call& call) {
  OCTAVO_CO_TRY(const auto body, json_body(call.request));
  const auto* content = body.if_contains("content");
  if (content == nullptr || !content->is_object()) {
    co_return fail(ErrorCode::bad_request, "An offer must have a 'content' with the throughput.");
  }
  const auto& object = content->get_object();
  const auto* autoscale = object.if_contains("offerAutopilotSettings");
  const auto* manual = object.if_contains("offerThroughput");
  std::optional<std::string> manual_text;
  std::optional<std::string> autoscale_text;
  if (autoscale != nullptr && autoscale->is_object()) {
    autoscale_text = boost::json::serialize(*autoscale);
  } else if (manual != nullptr && manual->is_number()) {
    manual_text = boost::json::serialize(*manual);
  }
  OCTAVO_CO_TRY(const auto throughput, throughput_of(manual_text, autoscale_text));
  if (!throughput) co_return fail(ErrorCode::bad_request, "The offer has no throughput.");
  OCTAVO_CO_TRY(const auto replaced, co_await call.services.engine.workers().run_blocking([&] {
    return call.services.registry.replace_offer(call.path.id, *throughput, etag_of(call.request));
  }));
  co_return offer_reply(replaced);
}

}  // namespace

Handled serve_offers(Call& call) {
  const Method method = call.request.method;
  const bool reads = method == Method::get || method == Method::head;
  if (!call.path.feed && method == Method::put) co_return co_await replace_offer(call);
  if (!reads && !(call.path.feed && method == Method::post)) co_return method_not_allowed();
  std::string link;
  if (call.path.feed) {
    OCTAVO_CO_TRY(link, wanted_link(call.request));
  }
  const std::string id = call.path.feed ? std::string() : std::string(call.path.id);
  OCTAVO_CO_TRY(const auto offers, co_await call.services.engine.workers().run_blocking(
                                       [&] { return wanted_offers(call.services.registry, id, link); }));
  if (!call.path.feed) {
    if (offers.empty()) co_return fail(ErrorCode::not_found, "");
    co_return offer_reply(offers.front());
  }
  std::vector<std::string> items;
  for (const auto& offer : offers) items.push_back(offer.to_json());
  co_return feed_reply("", "Offers", items, std::nullopt);
}

}  // namespace octavo::api::cosmos

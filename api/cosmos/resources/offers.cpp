// /offers and /offers/{id}: provisioned throughput.
#include <algorithm>

#include "api/cosmos/call/feed_page.h"
#include "api/cosmos/resources/registry.h"
#include "api/cosmos/resources/resource_handlers.h"
#include "api/cosmos/resources/resource_query.h"
#include "api/models/errors.h"

namespace octavo::api::cosmos {

namespace {

Reply offer_reply(const Offer& offer) {
  Reply reply = resource_reply(200, offer.to_json(), offer.etag);
  reply.headers.emplace_back("x-ms-cosmos-min-throughput", std::to_string(offer.lowest()));
  reply.headers.emplace_back("x-ms-offer-replace-pending", offer.replace_pending ? "true" : "false");
  return reply;
}

// The offer with this id, or all. Offers that are asked for one by one, or by a query that names their resource, have
// the bytes stored, by which their lowest throughput grows. A list does not: it would open all databases.
Expected<std::vector<Offer>> find_offers(const Registry& registry, std::string_view id, std::string_view query) {
  OCTAVO_TRY(auto offers, registry.offers());
  if (!id.empty()) std::erase_if(offers, [&](const Offer& offer) { return offer.id != id; });
  for (Offer& offer : offers) {
    const bool named = !id.empty() || query.find(offer.resource_rid) != std::string_view::npos;
    if (named) OCTAVO_TRY_VOID(registry.measure(offer));
  }
  return offers;
}

ResourceList listed(const std::vector<Offer>& offers) {
  ResourceList resources;
  for (const auto& offer : offers) resources.emplace_back(offer.id, offer.to_json());
  std::ranges::sort(resources);
  return resources;
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
  const bool queries = method == Method::post;
  const std::string id = call.path.feed ? std::string() : std::string(call.path.id);
  const std::string_view text = queries ? call.request.body : std::string_view();
  OCTAVO_CO_TRY(const auto offers, co_await call.services.engine.workers().run_blocking(
                                       [&] { return find_offers(call.services.registry, id, text); }));
  if (queries) co_return co_await query_resources(call, "", "Offers", listed(offers));
  if (!call.path.feed) {
    if (offers.empty()) co_return fail(ErrorCode::not_found, "");
    co_return offer_reply(offers.front());
  }
  co_return feed_page(call.request, "", "Offers", listed(offers));
}

}  // namespace octavo::api::cosmos

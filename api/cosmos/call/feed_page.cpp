#include "api/cosmos/call/feed_page.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "api/models/errors.h"
#include "base/encoding.h"
#include "base/json_writer.h"

namespace octavo::api::cosmos {

Expected<std::size_t> page_size_of(const Request& request) {
  const auto header = request.header("x-ms-max-item-count");
  if (!header || header->empty()) return page_items_default;
  // Java's client 2 asks for no items where TOP wants none.
  if (*header == "-1" || *header == "0") return page_items_max;
  long long count = 0;
  const auto [end, error] = std::from_chars(header->data(), header->data() + header->size(), count);
  if (error != std::errc{} || end != header->data() + header->size() || count < 1) {
    return fail(ErrorCode::bad_request, "x-ms-max-item-count must be -1 or a whole number from 0 on.");
  }
  return std::min<std::size_t>(static_cast<std::size_t>(count), page_items_max);
}

Expected<std::optional<std::string>> continuation_of(const Request& request) {
  const auto header = request.header("x-ms-continuation");
  if (!header || header->empty()) return std::nullopt;
  auto text = crypto::base64url_decode(*header);
  if (!text) return fail(ErrorCode::bad_request, "It was not issued by this server.", word::continuation);
  return text;
}

std::string to_continuation(std::string_view text) {
  return crypto::base64url_encode(text);
}

void begin_feed(std::string& out, std::string_view rid, std::string_view name) {
  out += "{\"_rid\":";
  append_json_string(out, rid);
  out += ",\"";
  out += name;
  out += "\":[";
}

void end_feed(Reply& reply, std::size_t count, const std::optional<std::string>& continuation) {
  reply.body += "],\"_count\":";
  append_json_number(reply.body, count);
  reply.body += '}';
  reply.headers.emplace_back("x-ms-item-count", std::to_string(count));
  if (continuation) reply.headers.emplace_back("x-ms-continuation", *continuation);
}

Reply feed_reply(std::string_view rid, std::string_view name, const std::vector<std::string>& items,
                 const std::optional<std::string>& continuation) {
  Reply reply;
  begin_feed(reply.body, rid, name);
  for (const auto& item : items) {
    if (&item != &items.front()) reply.body += ',';
    reply.body += item;
  }
  end_feed(reply, items.size(), continuation);
  return reply;
}

Expected<Reply> feed_page(const Request& request, std::string_view rid, std::string_view name, ResourceList resources) {
  OCTAVO_TRY(const auto size, page_size_of(request));
  OCTAVO_TRY(const auto after, continuation_of(request));
  auto next =
      after ? std::ranges::upper_bound(resources, *after, {}, &ResourceList::value_type::first) : resources.begin();
  std::vector<std::string> items;
  for (; next != resources.end() && items.size() < size; ++next) items.push_back(std::move(next->second));
  std::optional<std::string> continuation;
  if (next != resources.end()) continuation = to_continuation(std::prev(next)->first);
  return feed_reply(rid, name, items, continuation);
}

}  // namespace octavo::api::cosmos

#include "api/cosmos/feeds/change_start.h"

#include <charconv>
#include <chrono>
#include <ctime>

#include <fmt/format.h>

#include "api/cosmos/call/feed_page.h"

namespace octavo::api::cosmos {

namespace {

using storage::Sequence;

constexpr std::chrono::seconds acknowledged_wait{5};

}  // namespace

Expected<Sequence> parse_change_tag(std::string_view text) {
  while (text.starts_with('"')) text.remove_prefix(1);
  while (text.ends_with('"')) text.remove_suffix(1);
  Sequence sequence = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sequence);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return fail(ErrorCode::bad_request, "If-None-Match must be \"*\", or the ETag of an earlier page of changes.");
  }
  return sequence;
}

Expected<std::int64_t> parse_modified_since(std::string_view text) {
  std::tm time{};
  const std::string copy(text);
  const char* zone = ::strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S", &time);
  // The client for Go writes UTC.
  if (zone == nullptr || (std::string_view(zone) != " GMT" && std::string_view(zone) != " UTC")) {
    return fail(ErrorCode::bad_request, "If-Modified-Since must be a date like: Sun, 06 Nov 1994 08:49:37 GMT");
  }
  return static_cast<std::int64_t>(::timegm(&time));
}

Task<void> settle_acknowledged(partitioning::Database& database) {
  const Sequence committed = database.committed_sequence();
  if (database.watermark() >= committed) co_return;
  co_await database.wait_for_change(committed - 1, std::chrono::steady_clock::now() + acknowledged_wait);
}

Reply changes_reply(std::string_view container_rid, std::string_view body, std::size_t count, Sequence position) {
  Reply reply;
  reply.headers.emplace_back("etag", fmt::format("\"{}\"", position));
  if (count == 0) {
    reply.status = 304;
    reply.content_type = {};
    reply.headers.emplace_back("x-ms-item-count", "0");  // the .NET client reads it from these pages, too
    return reply;
  }
  begin_feed(reply.body, container_rid, "Documents");
  reply.body += body;
  end_feed(reply, count, std::nullopt);
  return reply;
}

}  // namespace octavo::api::cosmos

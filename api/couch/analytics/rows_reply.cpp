#include "api/couch/analytics/rows_reply.h"

#include <memory>
#include <stdexcept>
#include <utility>

namespace octavo::api::couch {

namespace {

using analytics::Analytics;
using analytics::FrameKind;

// A reply of less is sent whole, with its length; and an error in it gets its status.
constexpr std::size_t whole_reply_bytes = 64ULL << 10;

/// The rest of an answer when the head of its reply is sent.
struct Rest {
  Analytics& analytics;
  Analytics::Query query;
};

Task<void> send_rest(Rest rest, BodySink& sink) {
  while (true) {
    auto frame = co_await rest.analytics.workers().run_blocking([&rest] { return rest.query.next(); });
    // The head was already sent, so only an incomplete body can show the error. The connection logs it.
    if (!frame) throw std::runtime_error("analytics: " + std::string(reason_of(frame.error())));
    if (!*frame) {
      if (sink.closed()) co_return;
      continue;
    }
    if ((*frame)->kind == FrameKind::end) co_return;
    if ((*frame)->kind != FrameKind::rows) {
      throw std::runtime_error("analytics: " + analytics::error_of_payload((*frame)->payload).reason);
    }
    const bool sent = co_await sink.write((*frame)->payload);
    if (!sent) co_return;
  }
}

}  // namespace

Task<Expected<Reply>> rows_reply(Call& call, Analytics::Query query, std::string_view content_type) {
  Analytics& analytics = *call.services.analytics;
  Reply reply;
  reply.content_type = content_type;
  while (reply.body.size() < whole_reply_bytes) {
    OCTAVO_CO_TRY(auto frame, co_await analytics.workers().run_blocking([&query] { return query.next(); }));
    if (!frame) {
      if (call.request.client_has_left()) {
        co_return fail(ErrorCode::timeout, "The client has left before the reply was complete.");
      }
      continue;
    }
    if (frame->kind == FrameKind::end) co_return reply;
    if (frame->kind != FrameKind::rows) co_return std::unexpected(analytics::error_of_payload(frame->payload));
    reply.body += frame->payload;
  }
  reply.stream = [rest = std::make_unique<Rest>(Rest{analytics, std::move(query)})](BodySink& sink) mutable {
    return send_rest(std::move(*rest), sink);
  };
  co_return reply;
}

}  // namespace octavo::api::couch

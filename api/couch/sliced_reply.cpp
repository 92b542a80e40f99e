#include "api/couch/sliced_reply.h"

#include <stdexcept>

#include "partitioning/engine.h"

namespace octavo::api::couch {

namespace {

using partitioning::Database;
using partitioning::ScanBudget;

// On a worker: slices until a piece is full or the reply is complete.
Task<Expected<bool>> fill(Database& database, SliceProducer& producer, std::string& out) {
  auto work = [&producer, &out]() -> Expected<bool> {
    while (out.size() < slice_bytes) {
      auto complete = producer.produce(out, ScanBudget::worker_slice());
      if (!complete || *complete) return complete;
    }
    return false;
  };
  co_return co_await database.engine().run_blocking(std::move(work));
}

Task<void> send_rest(std::shared_ptr<Database> database, std::unique_ptr<SliceProducer> producer, BodySink& sink) {
  std::string piece;
  bool complete = false;
  while (!complete) {
    piece.clear();
    auto filled = co_await fill(*database, *producer, piece);
    if (!filled) {
      // The head is gone: only a broken body can tell. The connection logs it.
      throw std::runtime_error("database " + database->name() + ": " + filled.error().reason);
    }
    complete = *filled;
    const bool sent = co_await sink.write(piece);
    if (!sent) co_return;
  }
}

}  // namespace

Task<Expected<Reply>> sliced_reply(std::shared_ptr<Database> database, std::unique_ptr<SliceProducer> producer) {
  Reply reply;
  auto complete = producer->produce(reply.body, ScanBudget::inline_slice());
  if (complete && !*complete && reply.body.size() < slice_bytes) {
    complete = co_await fill(*database, *producer, reply.body);
  }
  if (!complete) co_return std::unexpected(std::move(complete).error());
  if (!*complete) {
    reply.stream = [database = std::move(database), producer = std::move(producer)](BodySink& sink) mutable {
      return send_rest(std::move(database), std::move(producer), sink);
    };
  }
  co_return reply;
}

}  // namespace octavo::api::couch

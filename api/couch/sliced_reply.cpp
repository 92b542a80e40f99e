#include "api/couch/sliced_reply.h"

#include <chrono>
#include <stdexcept>

#include "partitioning/engine.h"

namespace octavo::api::couch {

namespace {

using partitioning::Database;
using partitioning::ScanBudget;

/// A reply that has had this much of the workers' time goes on behind the others.
constexpr std::chrono::milliseconds kImpatientTime{10};

/// On workers: slices until a piece is full or the reply is complete. Other requests get their turn between slices.
class WorkerSlices {
 public:
  WorkerSlices(Database& database, SliceProducer& producer) : engine_(database.engine()), producer_(producer) {}

  Task<Expected<bool>> fill(std::string& out) {
    while (true) {
      auto slice = [this, &out] { return produce(out); };
      Expected<bool> complete;
      if (spent_ < kImpatientTime) {
        complete = co_await engine_.run_blocking(std::move(slice));
      } else {
        complete = co_await engine_.run_patiently(std::move(slice));
      }
      if (!complete || *complete || out.size() >= slice_bytes) co_return complete;
    }
  }

 private:
  Expected<bool> produce(std::string& out) {
    const auto begun = std::chrono::steady_clock::now();
    auto complete = producer_.produce(out, ScanBudget::worker_slice());
    spent_ += std::chrono::steady_clock::now() - begun;
    return complete;
  }

  partitioning::Engine& engine_;
  SliceProducer& producer_;
  std::chrono::steady_clock::duration spent_{};
};

Task<void> send_rest(std::shared_ptr<Database> database, std::unique_ptr<SliceProducer> producer, BodySink& sink) {
  WorkerSlices slices(*database, *producer);
  std::string piece;
  bool complete = false;
  while (!complete) {
    piece.clear();
    auto filled = co_await slices.fill(piece);
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
  Expected<bool> complete = false;
  if (!producer->may_take_long()) complete = producer->produce(reply.body, ScanBudget::inline_slice());
  if (complete && !*complete && reply.body.size() < slice_bytes) {
    WorkerSlices slices(*database, *producer);
    complete = co_await slices.fill(reply.body);
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

#include "api/couch/sliced_reply.h"

#include <chrono>
#include <stdexcept>

#include "partitioning/engine.h"
#include "partitioning/request_charge.h"

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
      if (producer_.runs_functions()) {
        complete = co_await engine_.run_function(std::move(slice));
      } else if (spent_ < kImpatientTime) {
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

/// What is left of a reply when its head goes out.
struct Rest {
  std::shared_ptr<Database> database;
  std::unique_ptr<SliceProducer> producer;
  std::optional<std::string> partition_key;
  std::uint64_t bytes = 0;  ///< written so far
  double charged = 0;
};

Task<void> send_rest(Rest rest, BodySink& sink) {
  const auto& database = rest.database;
  WorkerSlices slices(*database, *rest.producer);
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
    rest.bytes += piece.size();
    const double charge = rest.producer->charge(rest.bytes);
    database->spend_on_partition_key(rest.partition_key, charge - rest.charged);
    rest.charged = charge;
    const bool sent = co_await sink.write(piece);
    if (!sent) co_return;
  }
}

}  // namespace

double SliceProducer::charge(std::uint64_t bytes) const {
  return partitioning::charge_of_scan({.result_bytes = bytes});
}

Task<Expected<Reply>> sliced_reply(Call& call, std::unique_ptr<SliceProducer> producer,
                                   std::optional<std::string> partition_key) {
  const auto& database = call.database;
  if (auto admitted = database->admit_partition_key(partition_key); !admitted) {
    co_return std::unexpected(std::move(admitted).error());
  }
  Reply reply;
  Expected<bool> complete = false;
  if (!producer->may_take_long()) complete = producer->produce(reply.body, ScanBudget::inline_slice());
  if (complete && !*complete && reply.body.size() < slice_bytes) {
    WorkerSlices slices(*database, *producer);
    complete = co_await slices.fill(reply.body);
  }
  if (!complete) co_return std::unexpected(std::move(complete).error());
  const double charge = producer->charge(reply.body.size());
  call.charge_scan(partition_key, charge);
  if (!*complete) {
    Rest rest{database, std::move(producer), std::move(partition_key), reply.body.size(), charge};
    reply.stream = [rest = std::move(rest)](BodySink& sink) mutable { return send_rest(std::move(rest), sink); };
  }
  co_return reply;
}

}  // namespace octavo::api::couch

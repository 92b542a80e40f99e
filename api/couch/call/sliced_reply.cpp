#include "api/couch/call/sliced_reply.h"

#include <stdexcept>

#include "api/http/worker_slices.h"
#include "partitioning/engine.h"
#include "partitioning/throughput/request_charge.h"

namespace octavo::api::couch {

namespace {

using partitioning::Database;
using partitioning::DocumentTarget;
using partitioning::ScanBudget;

/// Runs slices until a piece is full or the reply is complete.
Task<Expected<bool>> fill(WorkerSlices& slices, SliceProducer& producer, std::string& out) {
  while (true) {
    auto slice = [&producer, &out] { return producer.produce(out, ScanBudget::worker_slice()); };
    Expected<bool> complete = co_await slices.run(std::move(slice), producer.runs_functions());
    if (!complete || *complete || out.size() >= ScanBudget::output_bytes_max) co_return complete;
  }
}

/// The rest of a reply when its head is sent.
struct Rest {
  std::shared_ptr<Database> database;
  std::unique_ptr<SliceProducer> producer;
  std::optional<DocumentTarget> scope;  ///< refers to text that is gone when the rest is sent
  std::string partition_key;            ///< that of `scope`
  std::uint64_t bytes = 0;              ///< produced so far
  double charged = 0;
  WorkerSlices slices;
};

Task<void> send_rest(Rest rest, BodySink& sink) {
  const auto& database = rest.database;
  if (rest.scope) rest.scope = rest.scope->referring_to_key(rest.partition_key);
  std::string piece;
  bool complete = false;
  while (!complete) {
    piece.clear();
    auto filled = co_await fill(rest.slices, *rest.producer, piece);
    if (!filled) {
      // The head was already sent, so only an incomplete body can show the error. The connection logs it.
      throw std::runtime_error("database " + database->name() + ": " + std::string(reason_of(filled.error())));
    }
    complete = *filled;
    rest.bytes += piece.size();
    const double charge = rest.producer->charge(rest.bytes);
    database->meter().spend_on_scan(rest.scope, charge - rest.charged);
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
                                   std::optional<DocumentTarget> scope) {
  const auto& database = call.database;
  OCTAVO_CO_TRY_VOID(database->meter().admit_scan(scope));
  Reply reply;
  WorkerSlices slices(database->engine(), call.request);
  Expected<bool> complete = false;
  if (producer->may_take_long()) {
    slices.let_others_go_first();
  } else {
    complete = producer->produce(reply.body, ScanBudget::inline_slice());
  }
  if (complete && !*complete && reply.body.size() < ScanBudget::output_bytes_max) {
    complete = co_await fill(slices, *producer, reply.body);
  }
  if (!complete) co_return std::unexpected(std::move(complete).error());
  const double charge = producer->charge(reply.body.size());
  call.charge_scan(scope, charge);
  if (!*complete) {
    std::string partition_key(scope ? scope->partition_key() : std::string_view());
    Rest rest{database, std::move(producer), scope, std::move(partition_key), reply.body.size(), charge, slices};
    reply.stream = [rest = std::move(rest)](BodySink& sink) mutable { return send_rest(std::move(rest), sink); };
  }
  co_return reply;
}

}  // namespace octavo::api::couch

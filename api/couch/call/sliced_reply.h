#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/couch/call/call.h"
#include "api/http/reply.h"
#include "base/task.h"
#include "partitioning/database.h"
#include "partitioning/scan.h"

namespace octavo::api::couch {

/// Produces a long reply piece by piece. Owns everything that it needs; holds no snapshot between calls. Called by one
/// thread at a time, but not always by the same one.
class SliceProducer {
 public:
  virtual ~SliceProducer() = default;
  /// Appends the next piece to `out`: until `budget` is used up or `out` has its
  /// output_bytes_max. True if the reply is complete.
  virtual Expected<bool> produce(std::string& out, partitioning::ScanBudget budget) = 0;
  /// Request units spent so far, when `bytes` of the reply were produced.
  virtual double charge(std::uint64_t bytes) const;
  /// True if one row may take long: then the first piece is also produced on a worker.
  virtual bool may_take_long() const { return runs_functions(); }
  /// True if it runs user-written functions: then each piece waits for the workers' other work.
  virtual bool runs_functions() const { return false; }
};

/// A JSON reply produced by `producer`. The first slice runs on the caller's I/O thread, later ones on workers. A reply
/// that fits one piece is sent whole, with its length; a longer one is streamed in bounded memory. An error after the
/// head was sent truncates the reply, so its JSON is incomplete. The stream ends if the client disconnects. The head
/// shows the charge of the first piece; the rest is spent while it is sent.
///
/// `scope`: the logical partition that is read, or a document of it; nullopt: the whole database. The text that it
/// refers to must live until this returns. Error throttled if the throughput there is used up.
Task<Expected<Reply>> sliced_reply(Call& call, std::unique_ptr<SliceProducer> producer,
                                   std::optional<partitioning::DocumentTarget> scope = std::nullopt);

}  // namespace octavo::api::couch

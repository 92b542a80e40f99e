#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "api/couch/call.h"
#include "api/http/reply.h"
#include "base/task.h"
#include "partitioning/database.h"
#include "partitioning/scan.h"

namespace octavo::api::couch {

/// A reply that is held in memory in pieces of about this size.
inline constexpr std::size_t slice_bytes = 64 * 1024;

/// Writes a long reply piece by piece. Owns all it needs; holds no snapshot between calls. Called by one thread at a
/// time, but not always by the same one.
class SliceProducer {
 public:
  virtual ~SliceProducer() = default;
  /// Appends the next piece to `out`: until `budget` rows were looked at or `out` holds `slice_bytes`. True when the
  /// reply is complete.
  virtual Expected<bool> produce(std::string& out, partitioning::ScanBudget budget) = 0;
  /// Request units spent so far, of which `bytes` were written.
  virtual double charge(std::uint64_t bytes) const;
  /// True: the first piece, too, is made on a worker, as one row may need much time.
  virtual bool may_take_long() const { return runs_functions(); }
  /// True when it runs functions that people wrote: each piece is made behind the workers' other work.
  virtual bool runs_functions() const { return false; }
};

/// A JSON reply made by `producer`. The first slice runs on the caller's I/O thread, later ones on workers. What fits
/// one piece goes out whole, with its length; more is streamed in bounded memory. An error after the head was sent can
/// only cut the reply short, which leaves its JSON incomplete. Ends when the client has left. The reply's head says
/// what the first piece has cost; the rest is spent as it goes out. Error throttled: the throughput of `partition_key`,
/// or of all, is used up.
Task<Expected<Reply>> sliced_reply(Call& call, std::unique_ptr<SliceProducer> producer,
                                   std::optional<std::string> partition_key = std::nullopt);

}  // namespace octavo::api::couch

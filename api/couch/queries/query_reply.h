#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <boost/json.hpp>

#include "api/couch/call/sliced_reply.h"
#include "api/http/charge_limit.h"
#include "base/error.h"
#include "partitioning/scan.h"
#include "partitioning/throughput/request_charge.h"
#include "query/walk/plan_walk.h"

namespace octavo::api::couch {

/// Appends the member `execution_stats` with a comma before it. `by_quorum`: whether documents count as read from a
/// quorum of copies; nullopt: the reply has no member for that. `started`: when the request arrived. `plans`: what each
/// of several plans has read (explain_reads); empty: there was one.
void append_execution_stats(std::string& out, const query::WalkStatistics& read, std::optional<bool> by_quorum,
                            std::chrono::steady_clock::time_point started, const boost::json::array& plans = {});

/// `{"docs":[…],"bookmark":…,…}` around the results of `_find` or `_sql`.
///
/// `Query` is a running query: what it needs, and
///   execution                  FindExecution or SqlExecution; its output is exchanged with the reply while it runs
///   charge(bytes) const        request units spent so far, when `bytes` of results were produced
///   record(bytes, stopped)     counts the query, which has produced `bytes` of results; `stopped`: by its charge
///   append_tail(out) const     appends the members after `docs`, each with a comma before it
///   may_take_long() const      as the call of SliceProducer
///   runs_functions() const     as the call of SliceProducer
template <class Query>
class QueryReply final : public SliceProducer {
 public:
  /// `most`: ends the page once this charge is reached; the execution must allow that (make_stoppable, may_stop).
  QueryReply(Query&& query, std::optional<partitioning::RequestUnits> most) : query_(std::move(query)), most_(most) {}

  bool may_take_long() const override { return query_.may_take_long(); }
  bool runs_functions() const override { return query_.runs_functions(); }
  double charge(std::uint64_t bytes) const override { return query_.charge(bytes); }

  Expected<bool> produce(std::string& out, partitioning::ScanBudget budget) override {
    if (!begun_) begin(out);
    const std::size_t before = out.size();
    // The execution appends to the reply itself, so results are not copied.
    std::string& output = query_.execution.output();
    output.swap(out);
    const Expected<partitioning::ScanState> state = run(budget, before);
    output.swap(out);
    if (!state) return std::unexpected(state.error());
    bytes_ += out.size() - before;
    if (*state == partitioning::ScanState::more) return false;
    query_.record(bytes_, stopped_);
    out += "\n]";
    query_.append_tail(out);
    if (stopped_) out += ",\n\"stopped\":\"max_request_charge\"";
    out += "}\n";
    return true;
  }

 private:
  // An error gets an ordinary reply all the same, as long as no piece was sent.
  void begin(std::string& out) {
    constexpr std::size_t usual_bytes = 16 * 1024;  // a page of 25 small documents is written without a reallocation
    out.reserve(usual_bytes);
    out += "{\"docs\":[\n";
    begun_ = true;
  }

  // `before`: size of the output before this slice; those bytes are not results, or are in `bytes_` already.
  Expected<partitioning::ScanState> run(partitioning::ScanBudget budget, std::size_t before) {
    if (!most_) return query_.execution.run(budget);
    const auto charged = [&] { return charge(bytes_ + query_.execution.output().size() - before); };
    return run_within_charge(query_.execution, budget, *most_, charged, stopped_);
  }

  Query query_;
  std::optional<partitioning::RequestUnits> most_;
  std::uint64_t bytes_ = 0;  ///< size of the results so far
  bool begun_ = false;
  bool stopped_ = false;
};

}  // namespace octavo::api::couch

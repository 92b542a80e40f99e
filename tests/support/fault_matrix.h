#pragma once

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/faulty_shop.h"

namespace octavo::tests {

/// One way in which storage calls fail.
struct FaultKind {
  std::string name;
  FaultPlan::Fault fault;
  std::set<int> statuses;  ///< how a request may be answered that meets it
};

inline std::vector<FaultKind> fault_kinds() {
  using At = storage::StorageCall;
  const std::set<At> all_calls{};
  const std::set<At> disk_calls{At::create_folder, At::open, At::put, At::erase, At::commit, At::sync};
  return {
      {"the disk is full", {.code = ENOSPC, .calls = disk_calls, .lasting = true}, {507}},
      {"one call finds the disk full", {.code = ENOSPC, .calls = disk_calls}, {507}},
      {"the disk fails and stays so", {.code = EIO, .calls = {At::commit, At::sync}, .lasting = true}, {500}},
      {"one call fails on the disk", {.code = EIO, .calls = disk_calls}, {500}},
      {"the meta page fails", {.code = EIO, .calls = {At::commit}, .panics = true}, {500}},
      {"the meta page fails, but is stored",
       {.code = EIO, .calls = {At::commit}, .took_place = true, .panics = true},
       {500}},
      {"the map is full", {.code = storage::fault_code::must_grow, .calls = {At::put, At::erase}}, {}},
      {"no reader slot", {.code = storage::fault_code::too_many_readers, .calls = {At::begin_read}}, {503}},
      {"no descriptor", {.code = EMFILE, .calls = {At::open}}, {503}},
      {"no address space", {.code = ENOMEM, .calls = {At::grow, At::open}}, {503}},
      {"no memory", {.code = FaultPlan::no_memory, .calls = all_calls}, {503}},
  };
}

/// What an answer must look like in the dialect of its API, and how that API is read meanwhile.
struct FaultDialect {
  void (*check_error)(const Received& answer, const FaultKind& kind);    ///< of a request that met the fault
  void (*check_success)(const Received& answer, const FaultKind& kind);  ///< the same, where its status is a success's
  int (*read_one)(FaultyShop& faulty);                                   ///< status of a document's reading
  void (*check_reads)(FaultyShop& faulty);
};

/// Every storage call of a request fails, one after the other: the answer is an error of the right kind, reads
/// continue, the same request succeeds afterwards, and the files are in order.
class FaultMatrix {
 public:
  FaultMatrix(FaultyShop& faulty, const FaultDialect& dialect) : faulty_(faulty), dialect_(dialect) {}

  /// At each call, or at `points` of them, spread evenly.
  void run_everywhere(const ShopRequest& request, const FaultKind& kind,
                      std::size_t points = std::numeric_limits<std::size_t>::max()) {
    // The first one opens what the next ones find open.
    calls_of(request, kind);
    const std::size_t calls = calls_of(request, kind);
    const std::size_t stride = std::max(stride_min, (calls + points - 1) / points);
    for (std::size_t n = (stride + 1) / 2; n <= calls; n += stride) run_at(request, kind, n, calls);
  }

 private:
  // Sanitizers make each check many times as long: they see every few calls only.
#if defined(OCTAVO_SANITIZED)
  static constexpr std::size_t stride_min = 7;
#else
  static constexpr std::size_t stride_min = 1;
#endif

  /// Whether work in the background caused the answer, which an earlier fault started after its own reply.
  static bool is_late(const Received& answer) {
    return answer.status == 503 &&
           answer.body.find("The search index went back to its last commit.") != std::string::npos;
  }

  /// Makes documents and databases new ones.
  static std::string new_run() {
    static int run = 0;
    return std::to_string(++run);
  }

  /// How many of the calls that may fail a request makes when none does. Work in the background adds its own now and
  /// then.
  std::size_t calls_of(const ShopRequest& request, const FaultKind& kind) {
    const auto send = request.prepare(faulty_, new_run());
    auto never = kind.fault;
    never.from = std::numeric_limits<std::size_t>::max();
    faulty_.faults().plan(never);
    const Received answer = send();
    const std::size_t calls = faulty_.faults().seen();
    faulty_.faults().heal();
    CAPTURE(request.name, answer.status, answer.body);
    CHECK(request.success.contains(answer.status));
    return calls;
  }

  void run_at(const ShopRequest& request, const FaultKind& kind, std::size_t n, std::size_t calls) {
    CAPTURE(request.name, kind.name, n, calls);
    const auto send = request.prepare(faulty_, new_run());
    auto fault = kind.fault;
    fault.from = n;
    faulty_.faults().plan(fault);
    const Received answer = send();
    const bool struck = faulty_.faults().fired() > 0;
    // While the disk is full, or fails every write, what was acknowledged can be read.
    if (struck && fault.lasting && !fault.calls.contains(storage::StorageCall::begin_read)) {
      CHECK(dialect_.read_one(faulty_) == 200);
    }
    faulty_.faults().heal();
    CAPTURE(answer.status, answer.body);
    if (request.success.contains(answer.status)) {
      if (struck) dialect_.check_success(answer, kind);
    } else if (struck || !is_late(answer)) {
      CHECK(struck);
      CHECK(kind.statuses.contains(answer.status));
      dialect_.check_error(answer, kind);
    }
    dialect_.check_reads(faulty_);
    const Received again = send();
    CAPTURE(again.status, again.body);
    CHECK((request.success.contains(again.status) || request.repeated.contains(again.status)));
    faulty_.check();
  }

  FaultyShop& faulty_;
  const FaultDialect& dialect_;
};

}  // namespace octavo::tests

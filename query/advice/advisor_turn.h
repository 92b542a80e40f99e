#pragma once

#include "base/error.h"

namespace octavo::query::advice {

/// The right to be the one advisor that runs in the process: advisors take much memory and read all documents. Ends
/// with the object.
class AdvisorTurn {
 public:
  /// Errors: conflict (`advisor_running`).
  static Expected<AdvisorTurn> take();
  AdvisorTurn(AdvisorTurn&& other) noexcept : has_it_(other.has_it_) { other.has_it_ = false; }
  AdvisorTurn(const AdvisorTurn&) = delete;
  AdvisorTurn& operator=(const AdvisorTurn&) = delete;
  ~AdvisorTurn();

 private:
  AdvisorTurn() = default;
  bool has_it_ = true;
};

}  // namespace octavo::query::advice

#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "base/task.h"

namespace octavo {

/// Work that was accepted and that no client awaits, such as writes that were queued. Others can wait until all that
/// was accepted before is done, in whatever order it ends. Thread-safe.
class AcceptedWork {
  struct State;

 public:
  AcceptedWork();

  /// A piece of work, until it is destroyed. It may outlive the AcceptedWork.
  class Piece {
   public:
    Piece(std::shared_ptr<State> state, std::uint64_t number) : state_(std::move(state)), number_(number) {}
    Piece(Piece&&) noexcept = default;
    Piece& operator=(Piece&&) = delete;
    ~Piece();

   private:
    std::shared_ptr<State> state_;
    std::uint64_t number_;
  };

  Piece accept();
  /// Returns when every piece that was accepted before this call is done. Resumes on the caller's executor.
  Task<void> wait_for_accepted();

 private:
  std::shared_ptr<State> state_;
};

}  // namespace octavo

#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/completion.h"
#include "base/error.h"
#include "base/task.h"

namespace octavo {

/// Lets coroutines through one at a time per key, in the order in which they came. Without another holder there is no
/// waiting. Thread-safe; each coroutine resumes on its own I/O thread.
class Turns : public std::enable_shared_from_this<Turns> {
 public:
  static constexpr std::size_t waiting_max = 256;  ///< per key; beyond it: overloaded

  /// Holds the turn until it is destroyed.
  class Turn {
   public:
    Turn(std::shared_ptr<Turns> turns, std::string key) : turns_(std::move(turns)), key_(std::move(key)) {}
    Turn(Turn&&) noexcept = default;
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_) turns_->leave(key_);
    }

   private:
    std::shared_ptr<Turns> turns_;
    std::string key_;
  };

  /// Waits for the turn. Errors: overloaded.
  Task<Expected<Turn>> take(std::string key);

 private:
  using Waiting = Completion<bool>;
  void leave(const std::string& key) noexcept;

  std::mutex mutex_;
  std::unordered_map<std::string, std::deque<Waiting>> lines_;  ///< queues of the keys that are taken
};

}  // namespace octavo

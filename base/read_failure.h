#pragma once

#include <exception>
#include <utility>

#include "base/error.h"

namespace octavo {

/// A cursor met a page that LMDB cannot read. Thrown, as a walk that merely ended there would pass for a whole one, and
/// as hundreds of walks need not each ask. Caught where std::bad_alloc is: by the door, the writers, background jobs.
class ReadFailure : public std::exception {
 public:
  explicit ReadFailure(Error error) : error_(std::move(error)) {}
  const char* what() const noexcept override { return error_.reason.c_str(); }
  /// corrupted, mostly.
  const Error& error() const { return error_; }

 private:
  Error error_;
};

}  // namespace octavo

#pragma once

#include <exception>
#include <utility>

#include "base/error.h"

namespace octavo {

/// A cursor met a page that LMDB cannot read. Thrown, so that the walk does not look complete and hundreds of walks
/// need no check of their own. Caught where std::bad_alloc is: in the APIs, writers, background jobs.
class ReadFailure : public std::exception {
 public:
  explicit ReadFailure(Error error) : error_(std::move(error)) {}
  const char* what() const noexcept override { return error_.reason.c_str(); }
  /// Usually corrupted.
  const Error& error() const { return error_; }

 private:
  Error error_;
};

}  // namespace octavo

#pragma once

#include <exception>
#include <new>
#include <string_view>

#include <spdlog/spdlog.h>

#include "base/error.h"
#include "base/memory_retry.h"
#include "base/read_failure.h"

namespace octavo {

/// Runs a step of work whose state must be restored however it ends: exceptions become errors. `what` names the work in
/// the log, which has what an unexpected exception says.
template <class Step>
auto run_guarded(std::string_view what, Step step) -> decltype(step()) {
  try {
    return step();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const ReadFailure& failure) {
    return std::unexpected(copy_when_memory_suffices(failure.error()));
  } catch (const std::exception& error) {
    spdlog::error("{}: unexpected exception: {}", what, error.what());
    return std::unexpected(Error{ErrorCode::internal, {}, {}});
  }
}

}  // namespace octavo

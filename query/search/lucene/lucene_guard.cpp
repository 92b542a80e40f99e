#include "query/search/lucene/lucene_guard.h"

#include <cerrno>
#include <lucene++/LuceneException.h>
#include <string>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "query/search/lucene/lucene_text.h"
#include "query/search/lucene/search_budget.h"

namespace octavo::query::search {

namespace {

Error input_output_error(int code, const std::string& what) {
  switch (code) {
    case 0:
      // No system call failed, so the data itself is invalid.
      return {ErrorCode::corrupted, "The search index is damaged: " + what, {}};
    case ENOSPC:
    case EDQUOT:
      return {ErrorCode::disk_full, {}, {}};
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return {ErrorCode::overloaded, {}, {}};
    default:
      return {ErrorCode::io_failure, "The disk of a search index failed: " + what, {}};
  }
}

}  // namespace

Error current_lucene_error(const LuceneDirectory::LastError& last_error) {
  try {
    throw;
  } catch (const TimeIsOver&) {
    return {ErrorCode::timeout, "The search took too long; ask for less.", {}};
  } catch (const std::bad_alloc&) {
    return {ErrorCode::overloaded, {}, {}};
  } catch (const Lucene::LuceneException& error) {
    const std::string what = to_utf8(error.getError());
    // A merge on another thread has run out of memory: its writer refuses everything from then on.
    if (what.find("hit an OutOfMemoryError") != std::string::npos) return {ErrorCode::overloaded, {}, {}};
    switch (error.getType()) {
      case Lucene::LuceneException::OutOfMemory:
        return {ErrorCode::overloaded, {}, {}};
      case Lucene::LuceneException::TooManyClauses:
        return {ErrorCode::bad_request, "too many boolean clauses", {}};
      case Lucene::LuceneException::IO:
      case Lucene::LuceneException::CorruptIndex:
      case Lucene::LuceneException::FileNotFound:
      case Lucene::LuceneException::Null:  // the type is lost if Lucene++ catches an exception and throws it again
        return input_output_error(last_error->load(), what);
      default:
        spdlog::error("search: unexpected exception: {}", what);
        return {ErrorCode::internal, {}, {}};
    }
  } catch (const std::exception& error) {
    spdlog::error("search: unexpected exception: {}", error.what());
    return {ErrorCode::internal, {}, {}};
  }
}

}  // namespace octavo::query::search

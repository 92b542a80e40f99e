#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/published.h"
#include "partitioning/database.h"
#include "query/design/design_document.h"
#include "query/javascript/program.h"

namespace octavo::query {

/// The `validate_doc_update` functions of a database: one program per function.
struct Validation {
  std::vector<javascript::ProgramPtr> programs;  ///< in order of the design documents' ids
};

/// A design document with its functions ready to run. The functions of each program are in the order of the list in
/// `document`.
struct DesignPrograms {
  DesignDocumentPtr document;
  javascript::ProgramPtr filters;  ///< of document->filters
  javascript::ProgramPtr updates;  ///< of document->updates
  javascript::ProgramPtr views;    ///< map functions of document->views, for feeds filtered by a view
};

/// The functions of a database's design documents that validate writes, update documents and filter change feeds. One
/// per open database. Thread-safe.
class DesignFunctions {
 public:
  explicit DesignFunctions(partitioning::Database& database) : database_(database) {}

  /// See DatabaseExtension: called before the write is acknowledged.
  void design_documents_changed();

  /// The functions that every write of a document has to pass; nullptr if there are none, which costs one atomic load.
  /// Reads the design documents if they changed since the last call. Includes every design document whose write was
  /// acknowledged. Errors: those of reading the design documents; the caller must then reject the write.
  Expected<std::shared_ptr<const Validation>> validation();

  /// The functions of the design document `_design/<name>`. Reads its row, so the result is current; the programs are
  /// cached. Errors: not_found, deleted; bad_request: invalid_design_doc, or unknown_query_language if the language is
  /// not JavaScript.
  Expected<std::shared_ptr<const DesignPrograms>> find(std::string_view name);

 private:
  enum State : std::uint64_t { unknown = 0, none = 1, some = 2 };
  static constexpr std::uint64_t state_mask = 3;
  static constexpr std::uint64_t one_change = 4;

  Expected<void> load();
  Expected<std::vector<javascript::ProgramPtr>> read_validation();

  partitioning::Database& database_;
  /// A counter of changes to design documents; the lowest bits are the State since the last change. Both are in one
  /// word, so that load() cannot publish a result that a later change made obsolete as current.
  std::atomic<std::uint64_t> state_{unknown};
  Published<Validation> validation_;
  std::mutex load_mutex_;  ///< one load at a time

  std::mutex programs_mutex_;  ///< guards programs_; held only for a lookup or an insertion
  std::unordered_map<std::string, std::shared_ptr<const DesignPrograms>> programs_;  ///< by id
};

/// Compiles the functions of a design document to check them. Runs on the calling thread and may take long. Errors have
/// CouchDB's words: bad_request compilation_error, or invalid_design_doc for an unknown built-in reduce function.
/// `replicated`: as in CouchDB, checks only functions of views. An unknown built-in reduce function is then accepted,
/// because the source may be a newer server; a query of such a view is an error.
Expected<void> check_functions(const DesignDocument& document, bool replicated);

}  // namespace octavo::query

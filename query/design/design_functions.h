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

/// The `validate_doc_update` functions of a database: each is the one function of its program.
struct Validation {
  std::vector<javascript::ProgramPtr> programs;  ///< in order of the design documents' ids
};

/// A design document with its functions ready to run; each member is an index in its program's functions.
struct DesignPrograms {
  DesignDocumentPtr document;
  javascript::ProgramPtr filters;  ///< as document->filters
  javascript::ProgramPtr updates;  ///< as document->updates
  javascript::ProgramPtr views;    ///< the map functions, as document->views: for views that filter feeds
};

/// The functions of a database's design documents that run while documents are written, updated and followed. One per
/// open database. Thread-safe.
class DesignFunctions {
 public:
  explicit DesignFunctions(partitioning::Database& database) : database_(database) {}

  /// As DatabaseExtension: before the write is acknowledged.
  void design_documents_changed();

  /// What every write of a document has to pass; nullptr: nothing, told by one atomic load. Reads the design documents
  /// when they changed since the last call. A design document whose write was acknowledged is in it.
  /// Errors: what keeps the design documents from being read; then nothing may be written.
  Expected<std::shared_ptr<const Validation>> validation();

  /// The functions of the design document `_design/<name>`: as it is stored now, found by reading its row; its programs
  /// are remembered. Errors: not_found, deleted; invalid_design_doc for one that makes no sense or is not JavaScript.
  Expected<std::shared_ptr<const DesignPrograms>> find(std::string_view name);

 private:
  enum State : std::uint64_t { unknown = 0, none = 1, some = 2 };
  static constexpr std::uint64_t kStateMask = 3;
  static constexpr std::uint64_t kOneChange = 4;

  Expected<void> load();
  Expected<std::vector<javascript::ProgramPtr>> read_validation();

  partitioning::Database& database_;
  /// Counts the changes of design documents, and says in its lowest bits what is known since the last one: in one word,
  /// so that a load that a change overtook can not be taken for the newest.
  std::atomic<std::uint64_t> state_{unknown};
  Published<Validation> validation_;
  std::mutex load_mutex_;  ///< one load at a time

  std::mutex programs_mutex_;  ///< guards programs_, for some instructions
  std::unordered_map<std::string, std::shared_ptr<const DesignPrograms>> programs_;  ///< by id
};

/// Compiles the functions of a design document on this thread, which must be one that may take long. Errors, in
/// CouchDB's words: bad_request compilation_error, and invalid_design_doc for an unknown built-in reduce function.
/// `replicated`: as CouchDB, only functions of views are looked at; a built-in reduce function that is not known here
/// is kept, as the server that it comes from may be a newer one. Views that name it are errors when they are asked for.
Expected<void> check_functions(const DesignDocument& document, bool replicated);

}  // namespace octavo::query

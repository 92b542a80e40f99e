#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "partitioning/engine.h"
#include "query/project/projection.h"

/// What the catalog has of projections.
///
/// Format (facts of projections):
///   area "of:" tag of the source, name "projection/" name       → JSON of ProjectionRecord
///   area "of:" tag of the target, name "projection_owner/" n    → {"source","tag","projection","exclusive"}
///   area "of:" tag of the target, name "projection_owners"      → the last n given, in decimal digits
///   area "projections", tag of the source, or its name once     → its tag: it is opened when the server starts
///
/// An owner counts as long as its source has the projection with this number, or a changed definition of one.
namespace octavo::query::project {

Expected<std::vector<ProjectionRecord>> projections_of(storage::Catalog& catalog, std::string_view source_tag);

/// Error bad_request (limit): a source that has this many projections can have no other one.
Expected<void> check_number(std::size_t projections);

/// Stores a new projection: gives it a number in the target, and notes that there. Errors: conflict: there is one of
/// this name; not_exclusive (conflict): the target belongs to another projection, or is to belong to this one and has
/// others; projection_loop (conflict): its rows would come back to it as sources; bad_request (limit): there are too
/// many; those of the catalog.
Expected<ProjectionRecord> add_projection(storage::Catalog& catalog, const partitioning::Database& source,
                                          const partitioning::Database& target, std::span<const JoinedDatabase> joined,
                                          std::string name, ProjectionDefinition definition);
/// Replaces what is stored of it. Errors: not_found; conflict if what is stored has another identity than `identity`;
/// projection_loop, as above, if it has a changed definition.
Expected<void> replace_projection(storage::Catalog& catalog, std::string_view source_tag, std::string_view identity,
                                  const ProjectionRecord& record);
/// The facts of a projection: of its source, and of its target.
storage::FactChange source_fact(std::string_view source_tag, const ProjectionRecord& record);
storage::FactChange owner_fact(std::string_view source, std::string_view source_tag, const ProjectionRecord& record);
/// The fact by which a database is opened when the server starts, as it is the source of projections.
storage::FactChange noted_source(std::string_view source_tag);
std::string new_identity();
/// A changed definition, with an identity of its own.
NextDefinition next_of(const ProjectionRecord& record, std::span<const JoinedDatabase> joined,
                       ProjectionDefinition definition);
/// A changed definition as a projection of its own.
ProjectionRecord record_of_next(const ProjectionRecord& record);
/// Gives the changed definition a number in the database that it is built in, and notes that there. It counts when it
/// is in the record.
Expected<std::uint32_t> add_next_target(storage::Catalog& catalog, const partitioning::Database& source,
                                        const partitioning::Database& target, const ProjectionRecord& record);
/// The fact by which a target takes no more writes, as another database takes its place.
storage::FactChange replaced_fact(const partitioning::Database& target);
Expected<void> erase_projection(storage::Catalog& catalog, std::string_view source_tag, const ProjectionRecord& record);

/// The names of the facts by which a database knows of the copy that writes into it, and of the one that has taken its
/// place, and the beginning of the names of copies (query/copy/copy_catalog.h).
inline constexpr std::string_view copied_from_fact = "copied_from";
inline constexpr std::string_view replaced_by_fact = "replaced_by";
inline constexpr std::string_view copy_prefix = "copy/";
/// What keeps clients from writing all documents of a database: the projections that write into it, or the copy that
/// does, or the database that has taken its place.
Expected<storage::DocumentOwners> owners_of(storage::Catalog& catalog, std::string_view target_tag);

struct SourceProjection {
  std::string source_tag;
  ProjectionRecord record;
};
/// The projections that read from a database, as their source or to join its documents.
Expected<std::vector<SourceProjection>> readers_of(storage::Catalog& catalog, std::string_view tag);

/// The names of the databases that have projections. Forgets those that are gone.
Expected<std::vector<std::string>> sources(storage::Catalog& catalog);

}  // namespace octavo::query::project

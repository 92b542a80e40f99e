#include "query/copy/projection_takeover.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "query/project/projection_catalog.h"

namespace octavo::query::copy {

namespace {

using project::ProjectionRecord;

std::unexpected<Error> cannot_follow(std::string reason) {
  return fail(ErrorCode::conflict, std::move(reason), "copy_projections");
}

/// Lets the joins read the successor.
Expected<void> join_successor(ProjectionRecord& record, const partitioning::Database& source,
                              const partitioning::Database& successor, bool keeps_ids) {
  for (std::size_t join = 0; join < record.join_tags.size(); ++join) {
    if (record.join_tags[join] != source.instance_tag()) continue;
    const auto& definition = record.definition.joins[join];
    if (!definition.is_count && !keeps_ids) {
      return cannot_follow(
          fmt::format("The projection {} looks documents up in {} by their ids, and those are others in the copy: "
                      "delete it, and create it again afterwards.",
                      record.name, source.name()));
    }
    record.join_tags[join] = successor.instance_tag();
  }
  return {};
}

/// It begins again, with the newest definition, and replaces the rows that its target has of it.
void begin_again(ProjectionRecord& record) {
  if (record.next) {
    record.generation = record.next->generation;
    record.join_tags = std::move(record.next->join_tags);
    record.definition = std::move(record.next->definition);
    record.next.reset();
  }
  record.identity = project::new_identity();
  record.former = project::rows_of_target;
}

}  // namespace

Expected<ProjectionTakeover> take_over_projections(storage::Catalog& catalog, const partitioning::Database& source,
                                                   const partitioning::Database& successor, bool keeps_ids) {
  OCTAVO_TRY(const auto owners, project::owners_of(catalog, source.instance_tag()));
  if (!owners.owners.empty()) {
    return cannot_follow(
        fmt::format("The {} writes into {}, and cannot write into the copy: delete it, and create it again afterwards.",
                    owners.owners.front().name, source.name()));
  }
  OCTAVO_TRY(const auto present, project::projections_of(catalog, successor.instance_tag()));
  OCTAVO_TRY(auto readers, project::readers_of(catalog, source.instance_tag()));
  ProjectionTakeover takeover;
  std::size_t number = present.size();
  for (auto& [source_tag, record] : readers) {
    const bool is_of_source = source_tag == source.instance_tag();
    if (record.removing && is_of_source) {
      return cannot_follow(
          fmt::format("The rows of the projection {} are being removed: try again later.", record.name));
    }
    if (record.removing) continue;
    const ProjectionRecord before = record;
    begin_again(record);
    OCTAVO_TRY_VOID(join_successor(record, source, successor, keeps_ids));
    takeover.sources.push_back(source_tag);
    if (!is_of_source) {
      takeover.facts.push_back(project::source_fact(source_tag, record));
      continue;
    }
    if (std::ranges::find(present, record.name, &ProjectionRecord::name) != present.end()) {
      return cannot_follow(fmt::format("{} and {} both have a projection {}: delete one of them.", source.name(),
                                       successor.name(), record.name));
    }
    if (!project::check_number(number++)) {
      return cannot_follow(fmt::format("{} and {} together have more projections than a database may have.",
                                       source.name(), successor.name()));
    }
    auto gone = project::source_fact(source_tag, before);
    gone.value.reset();
    takeover.facts.push_back(std::move(gone));
    takeover.facts.push_back(project::source_fact(successor.instance_tag(), record));
    takeover.facts.push_back(project::owner_fact(source.name(), successor.instance_tag(), record));
    takeover.facts.push_back(project::noted_source(successor.instance_tag()));
    takeover.sources.push_back(successor.instance_tag());
  }
  std::ranges::sort(takeover.sources);
  takeover.sources.erase(std::ranges::unique(takeover.sources).begin(), takeover.sources.end());
  return takeover;
}

Expected<std::vector<std::string>> sources_of_readers(storage::Catalog& catalog, const partitioning::Database& source) {
  OCTAVO_TRY(const auto readers, project::readers_of(catalog, source.instance_tag()));
  std::set<std::string> tags;
  for (const auto& reader : readers) tags.insert(reader.source_tag);
  return std::vector<std::string>(tags.begin(), tags.end());
}

}  // namespace octavo::query::copy

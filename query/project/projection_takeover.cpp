#include "query/project/projection_takeover.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "partitioning/database_extension.h"
#include "query/project/projection_catalog.h"

namespace octavo::query::project {

namespace {

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
  record.identity = new_identity();
  record.former = rows_of_target;
}

}  // namespace

Expected<ProjectionTakeover> take_over_projections(storage::Catalog& catalog, const partitioning::Database& source,
                                                   const partitioning::Database& successor, bool keeps_ids,
                                                   std::uint32_t writer) {
  OCTAVO_TRY(const auto owners, owners_of(catalog, source.instance_tag()));
  for (const auto& owner : owners.owners) {
    if (owner.number == writer) continue;
    return cannot_follow(
        fmt::format("The {} writes into {}, and cannot write into the copy: delete it, and create it again afterwards.",
                    owner.name, source.name()));
  }
  OCTAVO_TRY(const auto present, projections_of(catalog, successor.instance_tag()));
  OCTAVO_TRY(auto readers, readers_of(catalog, source.instance_tag()));
  ProjectionTakeover takeover;
  std::size_t number = present.size();
  for (auto& [source_tag, record] : readers) {
    const bool is_of_source = source_tag == source.instance_tag();
    if (record.removing && is_of_source) {
      return cannot_follow(
          fmt::format("The rows of the projection {} are being removed: try again later.", record.name));
    }
    if (record.removing) continue;
    if ((record.next && record.next->target) || !record.former_target.empty()) {
      return cannot_follow(fmt::format(
          "A changed definition of the projection {} is building another target: try again later.", record.name));
    }
    const ProjectionRecord before = record;
    begin_again(record);
    OCTAVO_TRY_VOID(join_successor(record, source, successor, keeps_ids));
    takeover.sources.push_back(source_tag);
    if (!is_of_source) {
      takeover.facts.push_back(source_fact(source_tag, record));
      continue;
    }
    if (std::ranges::find(present, record.name, &ProjectionRecord::name) != present.end()) {
      return cannot_follow(fmt::format("{} and {} both have a projection {}: delete one of them.", source.name(),
                                       successor.name(), record.name));
    }
    if (!check_number(number++)) {
      return cannot_follow(fmt::format("{} and {} together have more projections than a database may have.",
                                       source.name(), successor.name()));
    }
    auto gone = source_fact(source_tag, before);
    gone.value.reset();
    takeover.facts.push_back(std::move(gone));
    takeover.facts.push_back(source_fact(successor.instance_tag(), record));
    takeover.facts.push_back(owner_fact(source.name(), successor.instance_tag(), record));
    takeover.facts.push_back(noted_source(successor.instance_tag()));
    takeover.sources.push_back(successor.instance_tag());
  }
  std::ranges::sort(takeover.sources);
  takeover.sources.erase(std::ranges::unique(takeover.sources).begin(), takeover.sources.end());
  return takeover;
}

Expected<std::vector<std::string>> begin_projections_again(storage::Catalog& catalog) {
  std::vector<std::string> unused;
  OCTAVO_TRY(const auto names, sources(catalog));
  for (const std::string& name : names) {
    OCTAVO_TRY(const auto source, catalog.find(name));
    if (!source) continue;
    OCTAVO_TRY(auto records, projections_of(catalog, source->instance_tag));
    for (ProjectionRecord& record : records) {
      if (record.next && record.next->target && !record.next->target->tag.empty()) {
        unused.push_back(record.next->target->tag);
      }
      begin_again(record);
      const auto fact = source_fact(source->instance_tag, record);
      OCTAVO_TRY_VOID(catalog.set_fact(fact.area, fact.name, *fact.value));
    }
  }
  return unused;
}

namespace {

/// The databases with these tags. Those that cannot be opened read the catalog when they can.
Expected<std::vector<std::shared_ptr<partitioning::Database>>> find_all(partitioning::Engine& engine,
                                                                        const std::vector<std::string>& tags) {
  std::vector<std::shared_ptr<partitioning::Database>> found;
  if (tags.empty()) return found;
  OCTAVO_TRY(const auto records, engine.catalog().all());
  for (const auto& record : records) {
    if (!std::ranges::binary_search(tags, record.instance_tag)) continue;
    if (auto database = engine.find_database(record.name)) found.push_back(std::move(database));
  }
  return found;
}

}  // namespace

Expected<std::vector<std::shared_ptr<void>>> hold_readers(partitioning::Database& source) {
  auto& engine = source.engine();
  OCTAVO_TRY(const auto readers, readers_of(engine.catalog(), source.instance_tag()));
  std::set<std::string> tags;
  for (const auto& reader : readers) tags.insert(reader.source_tag);
  std::vector<std::shared_ptr<void>> held;
  OCTAVO_TRY(const auto databases, find_all(engine, {tags.begin(), tags.end()}));
  for (const auto& database : databases) {
    if (auto* const extension = database->extension()) held.push_back(extension->hold_projections());
  }
  return held;
}

void tell_readers(partitioning::Database& source, const std::vector<std::string>& tags) {
  if (tags.empty()) return;
  if (auto* const extension = source.extension()) extension->projections_changed();
  const auto databases = find_all(source.engine(), tags);
  if (!databases) {
    spdlog::error("database {}: its projections continue after the next start: {}", source.name(),
                  reason_of(databases.error()));
    return;
  }
  for (const auto& database : *databases) {
    auto* const extension = database->extension();
    if (database.get() != &source && extension != nullptr) extension->projections_changed();
  }
}

}  // namespace octavo::query::project

#include "api/couch/databases/target_creation.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "api/couch/databases/creation.h"
#include "api/models/cosmos_databases.h"
#include "api/models/database_properties.h"
#include "query/project/projection_catalog.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;

std::string partitioning_shown(bool partitioned) {
  return partitioned ? "a partitioned database" : "a database that is not partitioned";
}

}  // namespace

std::unexpected<Error> TargetCreation::bad_creation(std::string_view why) const {
  return fail(ErrorCode::bad_request, fmt::format("{}: {}", words_->member, why), words_->syntax);
}

std::unexpected<Error> TargetCreation::target_differs(std::string_view how) const {
  return fail(ErrorCode::precondition_failed,
              fmt::format("The target {} exists, and {}. Name another one, or leave out {} to use it as it is.", name_,
                          how, words_->member),
              "target_differs");
}

Expected<TargetCreation> TargetCreation::parse(const Services& services, const Words& words, std::string name,
                                               const json::object& create) {
  TargetCreation creation(words);
  creation.name_ = std::move(name);
  if (create.contains("partitionKey")) {
    OCTAVO_TRY_VOID(creation.read_container(create));
  } else {
    OCTAVO_TRY_VOID(creation.read_database(services, create));
  }
  return creation;
}

Expected<void> TargetCreation::read_container(json::object create) {
  if (create.contains("id"))
    return bad_creation(fmt::format("leave out `id`: the container has the name in {}.", words_->target));
  const std::size_t slash = name_.find('/');
  if (slash == std::string::npos) {
    return bad_creation(fmt::format(
        "{} of a container is {{database}}/{{container}}. Without `partitionKey` it is a database of the CouchDB API.",
        words_->target));
  }
  owner_ = name_.substr(0, slash);
  create["id"] = name_.substr(slash + 1);
  if (const auto* key = create.at("partitionKey").if_object()) names_version_ = key->contains("version");
  auto container = cosmos::ContainerDefinition::from_request(create);
  if (!container) return bad_creation(container.error().reason);
  container_ = *std::move(container);
  return {};
}

Expected<void> TargetCreation::read_database(const Services& services, const json::object& create) {
  std::map<std::string, std::string, std::less<>> texts;
  for (const auto& [key, value] : create) {
    const std::string_view name = key;
    if (std::ranges::find(creation_parameters, name) == creation_parameters.end()) {
      return fail(ErrorCode::bad_request,
                  fmt::format("Unknown member `{}` of {}; the known ones are {}, or those of a container with its "
                              "`partitionKey`.",
                              name.substr(0, 64), words_->member, fmt::join(creation_parameters, ", ")),
                  "unknown_member");
    }
    const bool is_truth = name == "partitioned" || name == "auto_index";
    if (is_truth ? !value.is_bool() : !value.is_int64()) {
      return bad_creation(fmt::format("`{}` must be {}.", name, is_truth ? "true or false" : "a whole number"));
    }
    texts.emplace(name, json::serialize(value));
  }
  if (const auto named = partitioning::Engine::check_database_name(name_); !named) {
    return fail(ErrorCode::bad_request, named.error().reason, words_->syntax);
  }
  const auto parameter = [&](std::string_view name) -> std::optional<std::string_view> {
    const auto found = texts.find(name);
    return found == texts.end() ? std::nullopt : std::optional<std::string_view>(found->second);
  };
  auto options = options_of_creation(parameter, name_, services.settings.q_max);
  if (!options) return bad_creation(options.error().reason);
  options_ = *std::move(options);
  return {};
}

Expected<void> TargetCreation::check_fit(const partitioning::Database& present) const {
  const bool is_container = api::is_container(present.definition()->text);
  if (!container_) {
    if (is_container) return target_differs("is a container");
    if (present.partitioned() == options_.partitioned) return {};
    return target_differs(fmt::format("is {}", partitioning_shown(present.partitioned())));
  }
  if (!is_container)
    return target_differs(fmt::format("is {} of the CouchDB API", partitioning_shown(present.partitioned())));
  OCTAVO_TRY(const auto other, cosmos::container_of(present));
  const bool has_same_scheme = names_version_ ? other->key_scheme == container_->key_scheme
                                              : other->hierarchical() == container_->hierarchical();
  if (other->key_paths == container_->key_paths && has_same_scheme) return {};
  return target_differs("has the partition key " + json::serialize(other->resource.at("partitionKey")));
}

Expected<std::shared_ptr<partitioning::Database>> TargetCreation::create(
    const Services& services, const partitioning::DatabaseOrigin& origin) const {
  if (!container_) {
    auto options = options_;
    options.origin = origin;
    return services.engine.create_database(name_, std::move(options));
  }
  if (services.cosmos_databases == nullptr) return fail(ErrorCode::unsupported, "This server has no containers.");
  const auto created = services.cosmos_databases->create_container(owner_, *container_, origin);
  if (!created && created.error().code == ErrorCode::not_found) {
    return fail(ErrorCode::not_found,
                fmt::format("The target {} cannot be created: the Azure Cosmos DB API has no database {}. Create it "
                            "first.",
                            name_, owner_),
                "target_missing");
  }
  OCTAVO_TRY_VOID(created);
  return services.engine.open_database(name_);
}

void remove_unused(partitioning::Engine& engine, const partitioning::Database& created) {
  const auto present = engine.find_database(created.name());
  if (!present || present->instance_tag() != created.instance_tag()) return;
  const auto owners = query::project::owners_of(engine.catalog(), created.instance_tag());
  if (!owners || !owners->owners.empty() || present->watermark() > present->sequence_base()) return;
  const auto deleted = engine.delete_database(created.name());
  if (!deleted) spdlog::warn("the target {} stays, which is not used: {}", created.name(), reason_of(deleted.error()));
}

}  // namespace octavo::api::couch

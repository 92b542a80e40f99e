#include "api/cosmos/call/resource_path.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "api/models/resource_id.h"
#include "base/ascii_case.h"

namespace octavo::api::cosmos {

namespace {

struct NamedResource {
  std::string_view segment;
  Resource resource;
};
constexpr std::array container_children{
    NamedResource{"docs", Resource::item},
    NamedResource{"pkranges", Resource::range},
    NamedResource{"sprocs", Resource::stored_procedure},
    NamedResource{"triggers", Resource::trigger},
    NamedResource{"udfs", Resource::user_function},
    NamedResource{"conflicts", Resource::conflict},
    NamedResource{"operations", Resource::operation},
};

std::unexpected<Error> no_such_path() {
  return fail(ErrorCode::not_found, "There is no such resource: the path begins with /dbs or /offers.");
}

std::string join(const std::vector<std::string>& segments, std::size_t count) {
  std::string joined;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) joined += '/';
    joined += segments[i];
  }
  return joined;
}

const NamedResource* below_container(std::string_view segment) {
  const auto* found = std::ranges::find(container_children, segment, &NamedResource::segment);
  return found == container_children.end() ? nullptr : found;
}

bool is_any_resource_id(std::string_view text) {
  return is_resource_id(text, database_rid_bytes) || is_resource_id(text, container_rid_bytes) ||
         is_resource_id(text, inner_rid_bytes);
}

Expected<ResourcePath> parse_segments(const std::vector<std::string>& segments) {
  ResourcePath path;
  const std::size_t count = segments.size();
  if (count == 0) return path;
  // A slash in a name would give two resources one link. Names cannot contain one; item ids are checked elsewhere.
  for (std::size_t i = 0; i < std::min<std::size_t>(count, 5); ++i) {
    if (segments[i].find('/') != std::string::npos) return no_such_path();
  }
  // The clients of .NET and Java request this first in direct mode, which is their default.
  if (segments[0] == "addresses") {
    return fail(ErrorCode::bad_request,
                "Direct mode is not available: choose ConnectionMode.Gateway in the client's options (gatewayMode() in "
                "Java).");
  }
  path.feed = count % 2 == 1;
  path.signed_link = join(segments, path.feed ? count - 1 : count);
  if (!path.feed) path.id = segments.back();

  if (segments[0] == "offers") {
    // An SDK that takes the link in `_self` for an id requests /offers/offers/{id}.
    if (count > 2) return fail(ErrorCode::bad_request, "The path of an offer is /offers/{id}.");
    path.resource = Resource::offer;
    path.signed_type = "offers";
    path.signed_link = lower_case(path.id);
    return path;
  }
  if (segments[0] != "dbs") return no_such_path();
  if (count > 1) path.database = segments[1];
  if (count <= 2) {
    path.resource = Resource::database;
    path.signed_type = "dbs";
    return path;
  }
  if (segments[2] == "users") {
    path.resource = count <= 4 ? Resource::user : Resource::permission;
    path.signed_type = count <= 4 ? "users" : "permissions";
    if (count > 3) path.owner = segments[3];
    if (count <= 4) return path;
    if (count > 6 || segments[4] != "permissions") return no_such_path();
    return path;
  }
  if (segments[2] == "clientencryptionkeys" && count <= 4) {
    path.resource = Resource::encryption_key;
    path.signed_type = "clientencryptionkeys";
    return path;
  }
  if (segments[2] != "colls") return no_such_path();
  if (count > 3) path.container = segments[3];
  if (count <= 4) {
    path.resource = Resource::container;
    path.signed_type = "colls";
    return path;
  }
  const NamedResource* kind = below_container(segments[4]);
  if (kind == nullptr || count > 6) return no_such_path();
  path.resource = kind->resource;
  path.signed_type = kind->segment;
  if (kind->resource == Resource::operation) {
    // An operation is signed with its container's type and link.
    path.signed_type = "colls";
    path.signed_link = join(segments, 4);
  }
  return path;
}

}  // namespace

Expected<ResourcePath> ResourcePath::parse(const std::vector<std::string>& segments) {
  if (std::ranges::any_of(segments, [](const std::string& segment) { return segment.empty(); })) {
    std::vector<std::string> named = segments;
    std::erase(named, std::string());
    return parse(named);
  }
  auto path = parse_segments(segments);
  if (path && path->has_resource_ids()) {
    const std::string_view link = path->signed_link;
    const std::string_view last = link.substr(link.rfind('/') + 1);
    if (is_any_resource_id(last)) path->signed_rid = lower_case(last);
  }
  return path;
}

void ResourcePath::resolve_alias(std::string database_id) {
  if (database_id == database) return;
  alias = std::exchange(database, std::move(database_id));
  if (resource == Resource::database) id = database;
  std::string link = named_link();
  sent_link = std::exchange(signed_link, std::move(link));
}

bool ResourcePath::has_resource_ids() const {
  return is_resource_id(database, database_rid_bytes) || is_resource_id(container, container_rid_bytes);
}

std::string ResourcePath::named_link() const {
  const std::string of_database = database.empty() ? std::string() : "dbs/" + database;
  const auto below = [this](std::string link) {
    if (!feed) link.append("/").append(signed_type).append("/").append(id);
    return link;
  };
  switch (resource) {
    case Resource::account:
    case Resource::offer:
      return signed_link;
    case Resource::database:
      return of_database;
    case Resource::operation:
      return container_link();
    case Resource::container:
    case Resource::user:
    case Resource::encryption_key:
      return below(of_database);
    case Resource::permission:
      return below(of_database + "/users/" + owner);
    default:
      return below(container_link());
  }
}

}  // namespace octavo::api::cosmos

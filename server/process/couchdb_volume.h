#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace octavo::server {

/// What to say to someone who replaced CouchDB's image and kept its volume: that nothing is stored there. nullopt:
/// `volume` (/opt/couchdb/data in that image) does not exist, is an empty folder of this file system, or is the data
/// folder.
std::optional<std::string> unused_couchdb_volume(const std::filesystem::path& volume,
                                                 const std::filesystem::path& data_dir);

/// Whether this process seems to run in a container. Elsewhere, CouchDB may be installed beside this server.
bool runs_in_container();

}  // namespace octavo::server

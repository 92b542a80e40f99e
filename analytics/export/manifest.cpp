#include "analytics/export/manifest.h"

#include <fstream>
#include <iterator>
#include <string_view>

#include <boost/json.hpp>

#include "analytics/export/disk_failure.h"
#include "query/json/parsed_document.h"

namespace octavo::analytics {

namespace {

namespace json = boost::json;

constexpr std::string_view file_name = "_octavo.json";
constexpr std::uint64_t manifest_format = 1;

Manifest::Entry entry_of(const json::value& value) {
  Manifest::Entry entry{.rows = value.at("rows").to_number<std::uint64_t>(),
                        .fingerprint = std::string(value.at("fingerprint").as_string()),
                        .files = {}};
  for (const auto& [name, bytes] : value.at("files").as_object()) {
    // Who may write to the folder must not name files elsewhere.
    if (name.contains('/')) throw boost::system::system_error(json::make_error_code(json::error::syntax));
    entry.files.emplace(name, bytes.to_number<std::uint64_t>());
  }
  return entry;
}

}  // namespace

std::optional<Manifest> Manifest::read(const std::filesystem::path& folder) {
  std::ifstream in(folder / file_name, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto parsed = query::parse_json(text);
  if (!parsed) return std::nullopt;
  try {
    if (parsed->at("format").to_number<std::uint64_t>() != manifest_format) return std::nullopt;
    Manifest manifest{.owner = std::string(parsed->at("owner").as_string()),
                      .layout = std::string(parsed->at("layout").as_string()),
                      .partitions = {}};
    for (const auto& [name, value] : parsed->at("partitions").as_object()) {
      manifest.partitions.emplace(name, entry_of(value));
    }
    return manifest;
  } catch (const boost::system::system_error&) {
    return std::nullopt;
  }
}

Expected<void> Manifest::write(const std::filesystem::path& folder) const {
  json::object entries;
  for (const auto& [name, entry] : partitions) {
    json::object files;
    for (const auto& [file, bytes] : entry.files) files[file] = bytes;
    entries[name] = json::object{{"rows", entry.rows}, {"fingerprint", entry.fingerprint}, {"files", std::move(files)}};
  }
  const json::object written{
      {"format", manifest_format}, {"owner", owner}, {"layout", layout}, {"partitions", std::move(entries)}};
  std::ofstream out(folder / file_name, std::ios::binary);
  out << json::serialize(written);
  out.close();
  if (out) return {};
  return disk_failure("Cannot write", folder / file_name, last_error());
}

}  // namespace octavo::analytics

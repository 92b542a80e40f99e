#include "api/couch/call/database_info.h"

#include <boost/json.hpp>

#include "api/models/database_properties.h"
#include "api/models/item_key.h"
#include "base/json_writer.h"

namespace octavo::api::couch {

namespace {

constexpr int disk_format_version = 8;  // that of CouchDB 3.5; clients only print it

void append_count(std::string& out, std::string_view name, std::uint64_t value) {
  append_json_key(out, name);
  append_json_number(out, value);
}

void append_text(std::string& out, std::string_view name, std::string_view value) {
  append_json_key(out, name);
  append_json_string(out, value);
}

void append_former_key(std::string& out, const cosmos::FormerKey& former) {
  append_json_key(out, "former_key");
  out +=
      boost::json::serialize(boost::json::object{{"paths", boost::json::value_from(former.container->key_path_texts)},
                                                 {"until", former.until_s},
                                                 {"requests", former.requests.load(std::memory_order_relaxed)}});
}

// `{"partitioned":true,"ttl":3600}`: only the properties that are set.
void append_properties(std::string& out, partitioning::Database& database) {
  out += '{';
  if (database.partitioned()) out += R"("partitioned":true)";
  if (database.auto_index()) out += out.back() == '{' ? R"("auto_index":true)" : R"(,"auto_index":true)";
  const auto definition = database.definition();
  if (!definition->text.empty() && !is_container(definition->text)) {
    const std::string properties = properties_json(properties_of(database).value_or(query::DatabaseProperties{}));
    if (out.back() != '{') out += ',';
    out.append(properties, 1, properties.size() - 2);
  }
  if (is_container(definition->text)) {
    const auto container = cosmos::container_of(database);
    auto former = container ? (*container)->former->key_of(database) : std::unexpected(container.error());
    if (former && *former) append_former_key(out, **former);
  }
  out += '}';
}

}  // namespace

Expected<void> append_database_info(std::string& out, partitioning::Database& database) {
  const storage::Sequence sequence = database.watermark();
  OCTAVO_TRY(const auto statistics, database.statistics());
  OCTAVO_TRY(const auto files, database.file_sizes());
  OCTAVO_TRY(const auto purges, database.purge_count());

  out += '{';
  append_text(out, "instance_start_time", std::to_string(database.created_s()));
  append_text(out, "db_name", database.name());
  append_text(out, "purge_seq", database.format_sequence(purges));
  append_text(out, "update_seq", database.format_sequence(sequence));
  append_json_key(out, "sizes");
  out += '{';
  append_count(out, "file", files.file_bytes);
  append_count(out, "external", statistics.external_bytes);
  append_count(out, "active", files.used_bytes);
  out += '}';
  append_json_key(out, "props");
  append_properties(out, database);
  append_count(out, "doc_del_count", statistics.deleted_count);
  append_count(out, "doc_count", statistics.document_count);
  append_count(out, "disk_format_version", disk_format_version);
  append_json_key(out, "compact_running");
  append_json_bool(out, database.is_compacting());
  append_json_key(out, "cluster");
  out += '{';
  append_count(out, "q", database.physical_partition_count());
  out += R"(,"n":1,"w":1,"r":1}})";
  return {};
}

}  // namespace octavo::api::couch

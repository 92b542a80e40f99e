#include "query/follow/feed_document.h"

#include "base/json_writer.h"
#include "partitioning/keys/partition_key.h"
#include "query/json/document_text.h"

namespace octavo::query {

namespace {

void append_leaves(std::string& json, std::string_view name, const storage::RevisionTree& tree,
                   const storage::Revision& winner, bool deleted) {
  bool first = true;
  for (const auto* leaf : tree.leaves()) {
    if (leaf->deleted != deleted || leaf->revision == winner) continue;
    if (first) append_json_key(json, name);
    json += first ? '[' : ',';
    append_revision(json, leaf->revision);
    first = false;
  }
  if (!first) json += ']';
}

}  // namespace

FeedDocument read_feed_head(const storage::DocumentHead& found, bool partitioned) {
  FeedDocument document;
  document.sequence = found.sequence;
  document.id = found.id;
  document.partition_key = partitioning::partition_key_of(found.id, partitioned);
  document.revision = found.revision;
  document.modified_s = found.modified_s;
  document.owner = found.owner;
  document.present = !found.deleted;
  return document;
}

Expected<FeedDocument> read_feed_document(const storage::DocumentView& found, const storage::Snapshot& snapshot,
                                          bool partitioned) {
  FeedDocument document = read_feed_head(found, partitioned);
  if (found.deleted) return document;
  std::string& json = document.json;
  json.reserve(found.body.size() + found.id.size() + 80);
  begin_document(json, found.id, found.revision, found.body);
  if (found.has_conflicts) {
    OCTAVO_TRY(const auto tree, snapshot.revision_branches(found));
    append_leaves(json, "_conflicts", tree, found.revision, false);
    append_leaves(json, "_deleted_conflicts", tree, found.revision, true);
  }
  json += '}';
  return document;
}

FeedDocument read_feed_body(const storage::DocumentView& found, bool partitioned) {
  FeedDocument document = read_feed_head(found, partitioned);
  if (!found.deleted) document.json = found.body;
  return document;
}

}  // namespace octavo::query

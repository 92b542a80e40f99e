// Records of documents and logical partitions, feed rows, and parts of histories and feeds made of any bytes: refused,
// or stored the same again.
#include "storage/document/document_record.h"

#include <string>

#include "fuzz/target.h"
#include "storage/document/ancestry.h"
#include "storage/document/logical_record.h"

namespace {

using namespace octavo::storage;
using octavo::fuzz::require;

// A damaged body is refused; one that can be opened has the size that it states.
void run_body(const StoredBody& body) {
  BodyBuffer buffer;
  const auto json = body.open(buffer);
  if (!json) return;
  require(json->size() == body.size(), "the stated size");
  if (!body.is_packed() && json->starts_with('\0')) return;  // no JSON
  std::string row;
  body.encode(row);
  const auto again = StoredBody::decode(row);
  require(again && again->is_packed() == body.is_packed() && again->bytes() == body.bytes(), "the same body again");
}

void run_document(std::string_view bytes) {
  const auto document = decode_document("d", bytes);
  if (!document) return;
  const auto ancestry = decode_ancestry(document->ancestry, document->revision.generation);
  if (ancestry) {
    std::string encoded;
    encode_ancestry(encoded, *ancestry);
    const auto again = decode_ancestry(encoded, document->revision.generation);
    require(again && again->kept == ancestry->kept && again->recent == ancestry->recent, "the same ancestry again");
  }
  run_body(document->body);
  if (document->has_tree_row) return;  // format 1, which is not written
  std::string record;
  encode_document(record, *document);
  const auto again = decode_document("d", record);
  require(again.has_value(), "a stored document can be read");
  require(again->revision == document->revision && again->sequence == document->sequence &&
              again->modified_s == document->modified_s && again->deleted == document->deleted &&
              again->has_conflicts == document->has_conflicts && again->ancestry == document->ancestry &&
              again->body.bytes() == document->body.bytes() && again->body.is_packed() == document->body.is_packed(),
          "the same document again");
}

void run_feed_row(std::string_view bytes) {
  const auto row = decode_feed_row(bytes.substr(0, 8), bytes.substr(bytes.size() < 8 ? bytes.size() : 8));
  if (!row) return;
  std::string record;
  encode_feed_row(record, *row);
  const auto again = decode_feed_row(bytes.substr(0, 8), record);
  require(again && again->revision == row->revision && again->id == row->id && again->deleted == row->deleted,
          "the same feed row again");
}

void run_block(std::string_view bytes) {
  const auto block = decode_history_block(bytes, 2);
  if (!block) return;
  std::string encoded;
  encode_history_block(encoded, *block);
  const auto again = decode_history_block(encoded, 2);
  require(again && again->first == block->first && again->ancestors == block->ancestors, "the same block again");
}

/// `key`: a short one, or one of which the record has the rest.
void run_logical_record(std::string_view key, std::string_view bytes) {
  const std::string name = logical_name(key);
  const auto parsed = parse_logical_row_key(name);
  require(parsed && parsed->name == name, "the name is the key of the record");
  const auto record = decode_logical_record(name, bytes);
  if (!record) return;
  std::string encoded;
  encode_logical_record(encoded, key, *record);
  const auto again = decode_logical_record(name, encoded);
  require(again && again->newest == record->newest &&
              again->statistics.document_count == record->statistics.document_count &&
              again->statistics.deleted_count == record->statistics.deleted_count &&
              again->statistics.external_bytes == record->statistics.external_bytes,
          "the same record again");
  require(key_of_logical_record(name, encoded) == key, "the same partition key");
}

void run_feed_chunk(octavo::fuzz::InputReader in) {
  const Sequence first = in.number(4);
  const auto chunk = decode_feed_chunk(first, in.rest());
  if (!chunk || chunk->sequences.empty()) return;
  std::string encoded;
  encode_feed_chunk(encoded, *chunk);
  const auto again = decode_feed_chunk(first, encoded);
  require(again && again->sequences == chunk->sequences, "the same chunk again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  octavo::fuzz::InputReader in(octavo::fuzz::text_of(data, size));
  switch (in.byte() % 6) {
    case 0:
      run_document(in.rest());
      break;
    case 1:
      run_feed_row(in.rest());
      break;
    case 2:
      run_block(in.rest());
      break;
    case 3:
      run_logical_record("p", in.rest());
      break;
    case 4:
      run_logical_record(std::string(500, 'k'), in.rest());
      break;
    default:
      run_feed_chunk(in);
  }
  return 0;
}

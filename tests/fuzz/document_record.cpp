// Records of documents, feed rows and parts of histories made of any bytes: refused, or stored the same again.
#include "storage/document/document_record.h"

#include <string>

#include "fuzz/target.h"
#include "storage/document/ancestry.h"

namespace {

using namespace octavo::storage;
using octavo::fuzz::require;

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
  if (document->has_tree_row) return;  // format 1, which is not written
  std::string record;
  encode_document(record, *document);
  const auto again = decode_document("d", record);
  require(again.has_value(), "a stored document can be read");
  require(again->revision == document->revision && again->sequence == document->sequence &&
              again->modified_s == document->modified_s && again->deleted == document->deleted &&
              again->has_conflicts == document->has_conflicts && again->ancestry == document->ancestry &&
              again->body == document->body,
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  octavo::fuzz::InputReader in(octavo::fuzz::text_of(data, size));
  switch (in.byte() % 3) {
    case 0:
      run_document(in.rest());
      break;
    case 1:
      run_feed_row(in.rest());
      break;
    default:
      run_block(in.rest());
  }
  return 0;
}

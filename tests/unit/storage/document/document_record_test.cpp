#include "storage/document/document_record.h"

#include <limits>
#include <random>
#include <string>

#include <catch2/catch.hpp>

#include "storage/document/ancestry.h"
#include "support/format_1.h"
#include "support/revisions.h"

using namespace octavo;
using namespace octavo::storage;
using octavo::tests::rev;

namespace {

/// A document whose hashes have every form.
struct Sample {
  Ancestry ancestry;
  std::string encoded_ancestry;
  DocumentView document;

  explicit Sample(const Revision& revision) {
    const Revision half = next_revision(std::nullopt, false, "{}");
    ancestry.kept = 40;
    ancestry.recent = {{half.hash, false}, {rev(1, "text").hash, true}, {rev(1, std::string(32, 'a')).hash, false}};
    encode_ancestry(encoded_ancestry, ancestry);
    document.id = "d";
    document.revision = revision;
    document.sequence = 1'000'000;
    document.modified_s = 1'700'000'000;
    document.has_conflicts = true;
    document.owner = 300;
    document.ancestry = encoded_ancestry;
    document.body = R"({"a":1})";
  }
};

void check_equal(const DocumentRecord& decoded, const DocumentView& document) {
  CHECK(decoded.id == document.id);
  CHECK(decoded.revision == document.revision);
  CHECK(decoded.revision.hash.is_digest() == document.revision.hash.is_digest());
  CHECK(decoded.sequence == document.sequence);
  CHECK(decoded.modified_s == document.modified_s);
  CHECK(decoded.deleted == document.deleted);
  CHECK(decoded.has_conflicts == document.has_conflicts);
  CHECK(decoded.owner == document.owner);
  CHECK(decoded.ancestry == document.ancestry);
  CHECK_FALSE(decoded.body.is_packed());
  CHECK(decoded.body.bytes() == document.body);
}

/// Reads any bytes; under the sanitizers a read beyond them is an error.
void decode_all(std::string_view bytes) {
  const std::string exact(bytes);
  if (const auto document = decode_document("d", exact)) {
    (void)decode_ancestry(document->ancestry, document->revision.generation);
    BodyBuffer buffer;
    (void)document->body.open(buffer);
  }
  (void)decode_ancestry(exact, 100);
  (void)decode_history_block(exact, 3);
  (void)decode_feed_row("12345678", exact);
}

}  // namespace

TEST_CASE("a document's record is read as it was written") {
  const Revision half = next_revision(rev(50, "x"), false, "{}");
  REQUIRE(half.generation == 51);
  for (const Revision& revision : {half, rev(51, "text"), rev(51, std::string(32, 'b'))}) {
    Sample sample(revision);
    for (const bool deleted : {false, true}) {
      sample.document.deleted = deleted;
      std::string record;
      encode_document(record, to_record(sample.document));
      const auto decoded = decode_document("d", record);
      REQUIRE(decoded);
      check_equal(*decoded, sample.document);
      const auto ancestry = decode_ancestry(decoded->ancestry, 51);
      REQUIRE(ancestry);
      CHECK(ancestry->kept == 40);
      CHECK(ancestry->recent == sample.ancestry.recent);
      CHECK(ancestry->recent[1].hash.is_digest() == false);
    }
  }
}

TEST_CASE("a new document's record has 16 bytes more than its body") {
  DocumentView document;
  document.revision = next_revision(std::nullopt, false, "{}");
  document.sequence = 100;
  document.modified_s = 1'700'000'000;
  document.body = R"({"a":1})";
  std::string record;
  encode_document(record, to_record(document));
  CHECK(record.size() == document.body.size() + 16);
}

TEST_CASE("a record with a packed body is read as it was written, and without the flag as JSON") {
  Sample sample(rev(51, "text"));
  const std::string json = R"({"a":")" + std::string(2000, 'a') + "\"}";
  const std::string packed = pack_body(json);
  REQUIRE_FALSE(packed.empty());
  DocumentRecord document{sample.document, StoredBody::of_packed(packed).value()};
  std::string record;
  encode_document(record, document);
  CHECK(record.size() < 250);
  const auto decoded = decode_document("d", record);
  REQUIRE(decoded);
  CHECK(decoded->ancestry == sample.document.ancestry);
  CHECK(decoded->body.is_packed());
  CHECK(decoded->body.size() == json.size());
  BodyBuffer buffer;
  CHECK(open_document(*decoded, buffer).value().body == json);

  std::string unflagged = record;
  unflagged.front() = static_cast<char>(unflagged.front() & ~0x20);
  CHECK_FALSE(decode_document("d", unflagged).value().body.is_packed());
  // A flag without a body, and a body that ends early.
  const std::size_t head = record.size() - packed.size();
  for (const std::size_t cut : {head, head + 1, head + 2, head + 10, record.size() - 1}) {
    const auto damaged = decode_document("d", std::string_view(record).substr(0, cut));
    INFO(cut);
    CHECK_FALSE((damaged && damaged->body.open(buffer)));
  }
}

TEST_CASE("a record of format 1 is read") {
  Sample sample(rev(51, std::string(32, 'b')));
  sample.document.ancestry = {};
  sample.document.owner = 0;
  const std::string record = octavo::tests::record_of_format_1(to_record(sample.document), true);
  const auto decoded = decode_document("d", record);
  REQUIRE(decoded);
  check_equal(*decoded, sample.document);
  CHECK(decoded->has_tree_row);
  for (std::size_t cut = 0; cut < 25; ++cut) CHECK_FALSE(decode_document("d", record.substr(0, cut)));
}

TEST_CASE("an ancestry that does not fit its document is refused") {
  const Sample sample(rev(51, "text"));
  CHECK(decode_ancestry(sample.encoded_ancestry, 51));
  CHECK_FALSE(decode_ancestry(sample.encoded_ancestry, 50));  // the record would have the ancestors from 48 on
  CHECK_FALSE(decode_ancestry(sample.encoded_ancestry, 40));  // as many ancestors as generations
  CHECK_FALSE(decode_ancestry(sample.encoded_ancestry + "x", 51));
  for (std::size_t cut = 1; cut < sample.encoded_ancestry.size(); ++cut) {
    CHECK_FALSE(decode_ancestry(sample.encoded_ancestry.substr(0, cut), 51));
  }
}

TEST_CASE("a history block is read as it was written") {
  HistoryBlock block{.first = 3 * HistoryBlock::generations_max + 7, .ancestors = {}};
  for (int i = 0; i < 20; ++i) {
    block.ancestors.push_back({next_revision(std::nullopt, false, std::to_string(i)).hash, i % 3 == 0});
  }
  std::string bytes;
  encode_history_block(bytes, block);
  CHECK(bytes.size() == 3 + 3 + 20 * RevisionHash::half_bytes);
  const auto decoded = decode_history_block(bytes, 3);
  REQUIRE(decoded);
  CHECK(decoded->first == block.first);
  CHECK(decoded->ancestors == block.ancestors);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) CHECK_FALSE(decode_history_block(bytes.substr(0, cut), 3));
}

TEST_CASE("damaged records are read within their bytes") {
  const Sample sample(rev(51, "text"));
  std::string record;
  encode_document(record, to_record(sample.document));
  const std::string packed = pack_body(R"({"a":")" + std::string(2000, 'a') + "\"}");
  std::string packed_record;
  encode_document(packed_record, {sample.document, StoredBody::of_packed(packed).value()});
  std::mt19937 random(4);
  for (const std::string& whole : {record, packed_record, sample.encoded_ancestry}) {
    for (int i = 0; i < 5000; ++i) {
      std::string broken = whole.substr(0, 1 + random() % whole.size());
      broken[random() % broken.size()] = static_cast<char>(random());
      decode_all(broken);
    }
  }
}

TEST_CASE("a feed row is read as it was written") {
  for (const Revision& revision :
       {next_revision(std::nullopt, false, "{}"), rev(1, "text"), rev(1, std::string(32, 'b'))}) {
    std::string record;
    encode_feed_row(record, {7, "d", revision, true, false});
    std::string key;
    append_key_u64(key, 7);
    const auto row = decode_feed_row(key, record);
    REQUIRE(row);
    CHECK(row->revision == revision);
    CHECK(row->id == "d");
    CHECK(row->deleted);
    CHECK(row->sequence == 7);
  }
}

TEST_CASE("counters whose last sequence leaves no others are refused") {
  const auto reload = [](Sequence last_sequence) {
    PartitionCounters counters;
    counters.last_sequence = last_sequence;
    std::string record;
    encode_counters(record, counters);
    return decode_counters(record);
  };
  CHECK(reload(1000).value().last_sequence == 1000);
  CHECK(reload(1000).value().dropped_through == 0);
  const auto refused = reload(std::numeric_limits<Sequence>::max());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::corrupted);
}

TEST_CASE("counters say through which sequence tombstones were dropped") {
  PartitionCounters counters;
  counters.last_sequence = 1000;
  counters.dropped_through = 1000;
  counters.documents.document_count = 300;
  std::string record;
  encode_counters(record, counters);
  CHECK(decode_counters(record).value().dropped_through == 1000);
  CHECK(decode_counters(record).value().documents.document_count == 300);
  record.pop_back();
  CHECK_FALSE(decode_counters(record));
  ++counters.dropped_through;
  record.clear();
  encode_counters(record, counters);
  CHECK_FALSE(decode_counters(record));
}

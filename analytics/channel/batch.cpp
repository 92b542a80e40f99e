#include "analytics/channel/batch.h"

#include "base/byte_codec.h"

namespace octavo::analytics {

BatchWriter::BatchWriter(std::uint64_t from, std::uint64_t reached, bool complete) {
  ByteWriter writer(payload_);
  writer.u64(from);
  writer.u64(reached);
  writer.u8(complete ? 1 : 0);
}

void BatchWriter::add(const TableChange& change) {
  ByteWriter writer(payload_);
  writer.u8(static_cast<std::uint8_t>(change.row));
  writer.u64(static_cast<std::uint64_t>(change.modified_s));
  writer.sized_bytes(change.id);
  writer.sized_bytes(change.revision);
  writer.sized_bytes(change.json);
}

Expected<Batch> read_batch(std::string_view payload) {
  ByteReader reader(payload);
  Batch batch;
  batch.from = reader.u64();
  batch.reached = reader.u64();
  batch.complete = reader.u8() != 0;
  while (reader.ok() && !reader.rest().empty()) {
    TableChange change;
    change.row = static_cast<RowChange>(reader.u8());
    change.modified_s = static_cast<std::int64_t>(reader.u64());
    change.id = reader.sized_bytes();
    change.revision = reader.sized_bytes();
    change.json = reader.sized_bytes();
    batch.changes.push_back(change);
  }
  if (!reader.ok()) return fail(ErrorCode::internal, "A batch of the analytical store is damaged.");
  return batch;
}

std::string removal_payload(const std::vector<std::string>& ids, std::uint64_t purge_count, bool marks) {
  std::string payload;
  ByteWriter writer(payload);
  writer.u64(purge_count);
  writer.u8(marks ? 1 : 0);
  for (const std::string& id : ids) writer.sized_bytes(id);
  return payload;
}

Expected<Removal> read_removal(std::string_view payload) {
  ByteReader reader(payload);
  Removal removal;
  removal.purge_count = reader.u64();
  removal.marks = reader.u8() != 0;
  while (reader.ok() && !reader.rest().empty()) removal.ids.push_back(reader.sized_bytes());
  if (!reader.ok()) return fail(ErrorCode::internal, "A batch of the analytical store is damaged.");
  return removal;
}

}  // namespace octavo::analytics

#include "storage/partition/partition_transaction.h"

#include "storage/partition/document_writer.h"

namespace octavo::storage {

Expected<std::optional<DocumentView>> PartitionTransaction::find(std::string_view id) {
  return writer_.find(id);
}
Expected<std::optional<DocumentRecord>> PartitionTransaction::find_record(std::string_view id) {
  return writer_.find_record(id);
}
Expected<EditOutcome> PartitionTransaction::apply(const DocumentWrite& write) {
  return writer_.apply(write);
}
Expected<Refusal> PartitionTransaction::adopt(const DocumentCopy& copy) {
  return writer_.adopt_as_new(copy);
}
Expected<void> PartitionTransaction::remove(const std::string& id, std::string_view partition_key) {
  DocumentWrite removal;
  removal.id = id;
  removal.partition_key = partition_key;
  removal.deleted = true;
  removal.body = "{}";
  removal.base = WriteBase::any_winner;
  removal.owner = copy_owner;
  // Another revision may win then.
  while (true) {
    OCTAVO_TRY(const EditOutcome outcome, writer_.apply(removal));
    OCTAVO_TRY(const WrittenDocument written, outcome);
    if (written.sequence == 0) return {};
  }
}
std::int64_t PartitionTransaction::now_s() const {
  return writer_.now_s();
}
Expected<Sequence> PartitionTransaction::last_change(std::string_view partition_key) const {
  return writer_.last_change(partition_key);
}
std::uint64_t PartitionTransaction::purge_count() const {
  return writer_.purge_count();
}

}  // namespace octavo::storage

// The queue of a physical partition: what enters it, and what its writer takes from it as one group.
#include <cstddef>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/assert.h"
#include "base/memory_retry.h"
#include "storage/partition/physical_partition.h"
#include "storage/partition/write_successor.h"

namespace octavo::storage {
namespace {

/// A group is full at this size: bounds a transaction's dirty pages and the wait of its first request.
constexpr std::size_t group_bytes_max = 4ULL << 20;
constexpr std::size_t group_jobs_max = 4096;
constexpr std::size_t job_overhead_bytes = 256;

/// Does the same as fail, but leaves out the reason if memory is short.
Expected<void> refuse(ErrorCode code, const char* reason) noexcept {
  try {
    return fail(code, reason);
  } catch (const std::bad_alloc&) {
    return std::unexpected(Error{code, {}, {}});
  }
}

std::size_t bytes_of(const DocumentWrite& write) {
  return write.id.size() + write.body.size() + write.history.size() * sizeof(Revision) + job_overhead_bytes;
}

std::size_t bytes_of(const std::vector<DocumentWrite>& writes) {
  std::size_t bytes = 0;
  for (const DocumentWrite& write : writes) bytes += bytes_of(write);
  return bytes;
}

}  // namespace

/// A request that is too large for one group.
struct PhysicalPartition::LargeRequest {
  DocumentsJob job;      ///< collects the results; its writes before `next` were moved to parts
  std::size_t next = 0;  ///< the first write that is in no part yet
};

void PhysicalPartition::write(std::vector<DocumentWrite> writes, WriteOptions options, Completion done) {
  Job job{DocumentsJob{std::move(writes), options, std::move(done), {}}, 0};
  auto& documents = std::get<DocumentsJob>(job.work);
  job.bytes = bytes_of(documents.writes);
  if (const auto admitted = admit(job.bytes); !admitted) return complete(job, admitted);
  queue_documents(std::move(documents), job.bytes);
}

Expected<void> PhysicalPartition::try_write(std::vector<DocumentWrite> writes, WriteOptions options, Completion done) {
  const std::size_t bytes = bytes_of(writes);
  OCTAVO_TRY_VOID(admit(bytes));
  queue_documents({std::move(writes), options, std::move(done), {}}, bytes);
  return {};
}

void PhysicalPartition::queue_documents(DocumentsJob job, std::size_t bytes) noexcept {
  if (bytes <= group_bytes_max || job.writes.size() == 1 || job.options.atomic) return queue({std::move(job), bytes});
  std::shared_ptr<LargeRequest> request;
  try {
    request = std::make_shared<LargeRequest>();
    job.results.reserve(job.writes.size());
  } catch (const std::bad_alloc&) {
    return queue({std::move(job), bytes});  // as one large group
  }
  request->job = std::move(job);
  queue_next_part(std::move(request));
}

// A part enters the queue when the one before it was written, behind the writes that came meanwhile. All parts in the
// queue at once would hold these up as one transaction would.
void PhysicalPartition::queue_next_part(std::shared_ptr<LargeRequest> request) noexcept {
  std::vector<DocumentWrite>& writes = request->job.writes;
  std::size_t end = request->next;
  std::size_t bytes = 0;
  for (; end < writes.size(); ++end) {
    const std::size_t more = bytes_of(writes[end]);
    if (bytes != 0 && bytes + more > group_bytes_max) break;
    bytes += more;
  }
  OCTAVO_ASSERT(end > request->next);
  DocumentsJob part;
  part.options = request->job.options;
  until_memory_suffices([&] {
    part.writes.reserve(end - request->next);
    part.done = [self = shared_from_this(), request](DocumentResults results) {
      DocumentResults& all = request->job.results;  // it has the room
      for (EditOutcome& result : results) all.push_back(std::move(result));
      if (request->next < request->job.writes.size()) return self->queue_next_part(request);
      OCTAVO_ASSERT(all.size() == request->job.writes.size());
      request->job.done(std::move(all));
    };
  });
  for (; request->next < end; ++request->next) {
    DocumentWrite& write = part.writes.emplace_back(std::move(writes[request->next]));
    // Short ids are stored inside the string object, so the view into the id must be set again.
    write.partition_key = std::string_view(write.id).substr(0, write.partition_key.size());
  }
  queue({std::move(part), bytes});
}

void PhysicalPartition::write_local(LocalDocumentWrite write, LocalCompletion done) {
  const std::size_t bytes = write.id.size() + write.body.size() + job_overhead_bytes;
  enqueue({LocalJob{std::move(write), std::move(done), std::uint64_t{0}}, bytes});
}

void PhysicalPartition::purge(std::vector<PurgeRequest> requests, PurgeCompletion done) {
  const std::size_t bytes = requests.size() * job_overhead_bytes;
  enqueue({PurgeJob{std::move(requests), std::move(done), {}}, bytes});
}

void PhysicalPartition::run_transaction(TransactionTask task, std::string partition_key, std::size_t bytes,
                                        std::move_only_function<void(Expected<void>)> done) {
  enqueue({TransactionJob{std::move(task), std::move(partition_key), std::move(done)}, bytes + job_overhead_bytes});
}

void PhysicalPartition::run_index_task(IndexTask task, std::move_only_function<void(Expected<void>)> done) {
  enqueue({IndexJob{std::move(task), std::move(done)}, job_overhead_bytes});
}

Expected<void> PhysicalPartition::admit(std::size_t bytes) noexcept {
  if (retired_.load(std::memory_order_acquire)) return refuse(ErrorCode::not_found, "Database does not exist.");
  const bool has_room = queued_bytes_.fetch_add(bytes, std::memory_order_relaxed) <= options_.queue_bytes_max;
  if (has_room && writers_.admit(bytes)) return {};
  queued_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  return refuse(ErrorCode::overloaded, "Too many writes are waiting for the disk; try again later.");
}

void PhysicalPartition::release(std::size_t bytes) noexcept {
  const std::size_t before = queued_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  OCTAVO_ASSERT(bytes <= before);
  writers_.release(bytes);
}

void PhysicalPartition::enqueue(Job job) noexcept {
  if (const auto admitted = admit(job.bytes); !admitted) return complete(job, admitted);
  queue(std::move(job));
}

void PhysicalPartition::queue(Job job) noexcept {
  const std::size_t bytes = job.bytes;
  bool queued = true;
  std::shared_ptr<WriteSuccessor> successor;
  {
    std::lock_guard<std::mutex> lock(queue_mutex_);
    successor = successor_;
    try {
      if (!successor) queue_.push_back(std::move(job));
    } catch (const std::bad_alloc&) {
      queued = false;
    }
    if (!successor && queued && scheduled_) return;
    if (!successor && queued) scheduled_ = true;
  }
  if (successor) {
    release(bytes);
    forward(std::move(job), *successor);  // NOLINT(bugprone-use-after-move): not queued
    return;
  }
  if (!queued) {
    // NOLINTBEGIN(bugprone-use-after-move): push_back moves it or leaves it unchanged
    release(bytes);
    complete(job, out_of_memory());
    // NOLINTEND(bugprone-use-after-move)
    return;
  }
  writers_.schedule(shared_from_this());
}

std::vector<PhysicalPartition::Job> PhysicalPartition::take_group() {
  std::vector<Job> group;
  std::lock_guard<std::mutex> lock(queue_mutex_);
  std::size_t bytes = 0;
  std::size_t count = 0;
  while (count < queue_.size() && count < group_jobs_max && bytes < group_bytes_max) {
    // Index tasks may be long and may fail: they get their own transaction. A seal must be alone and last.
    const auto& work = queue_[count].work;
    const bool alone = std::holds_alternative<IndexJob>(work) || std::holds_alternative<SealJob>(work);
    if (alone && count > 0) break;
    bytes += queue_[count].bytes;
    ++count;
    if (alone) break;
  }
  // Allocates first: no job may be lost between the queue and the group.
  group.reserve(count);
  for (; count > 0; --count) {
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  release(bytes);
  return group;
}

}  // namespace octavo::storage

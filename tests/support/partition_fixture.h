#pragma once

#include <filesystem>
#include <future>
#include <iostream>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/partition/partition_check.h"
#include "storage/partition/physical_partition.h"
#include "support/temporary_folder.h"

namespace octavo::tests {

/// Holds up a partition's writer: what is queued until release() waits, and is then taken as one group.
class HeldWriter {
 public:
  explicit HeldWriter(storage::PhysicalPartition& partition) {
    partition.run_index_task(
        [this](storage::WriteTransaction&, storage::Tree) -> Expected<void> {
          holding_.count_down();
          released_.wait();
          return fail(ErrorCode::internal, "only here to wait");
        },
        [this](const auto&) { done_.count_down(); });
    holding_.wait();
  }
  ~HeldWriter() {
    release();
    done_.wait();
  }
  HeldWriter(const HeldWriter&) = delete;
  HeldWriter& operator=(const HeldWriter&) = delete;

  void release() {
    if (!std::exchange(is_released_, true)) released_.count_down();
  }

 private:
  std::latch holding_{1};
  std::latch released_{1};
  std::latch done_{1};
  bool is_released_ = false;
};

/// A physical partition on its own, with blocking calls.
class PartitionFixture {
 public:
  explicit PartitionFixture(storage::PhysicalPartition::Options options = {}) {
    options.folder = folder_.path() / "partition";
    // A test of faults wants the syncs.
    options.durability = options.faults == nullptr ? config::Durability::ephemeral : config::Durability::commit;
    options_ = options;
    open(0);
    if (!partition_->create()) throw std::runtime_error("cannot create the partition");
  }

  /// A copy of another one as it is now, which must not be written meanwhile.
  PartitionFixture(storage::PhysicalPartition::Options options, const PartitionFixture& source) {
    options.folder = folder_.path() / "partition";
    options.durability = options.faults == nullptr ? config::Durability::ephemeral : config::Durability::commit;
    options_ = options;
    std::filesystem::create_directory(options_.folder);
    std::filesystem::copy_file(source.options_.folder / "data.mdb", options_.folder / "data.mdb");
    open(source.sequences_->watermark());
  }

  void open(storage::Sequence last) {
    writers_.run_out();  // the files must not be open twice
    partition_ = std::make_shared<storage::PhysicalPartition>(options_, writers_);
    sequences_ = std::make_shared<storage::SequenceAllocator>(1, last);
    partition_->attach(sequences_, [this](bool) { ++commits_; });
  }

  std::vector<Expected<storage::WrittenDocument>> write(std::vector<storage::DocumentWrite> writes,
                                                        bool atomic = false) {
    return begin_write(std::move(writes), atomic).get();
  }

  /// Does the same as write(), without waiting.
  std::future<std::vector<Expected<storage::WrittenDocument>>> begin_write(std::vector<storage::DocumentWrite> writes,
                                                                           bool atomic = false) {
    for (auto& write : writes) {
      const std::size_t colon = write.id.find(':');
      if (colon != std::string::npos) write.partition_key = std::string_view(write.id).substr(0, colon);
    }
    const auto done = std::make_shared<std::promise<std::vector<Expected<storage::WrittenDocument>>>>();
    partition_->write(std::move(writes), {atomic}, [done](auto results) { done->set_value(std::move(results)); });
    return done->get_future();
  }

  Expected<storage::WrittenDocument> put(std::string id, std::string body, std::optional<storage::Revision> parent = {},
                                         bool deleted = false) {
    return write({make(std::move(id), std::move(body), parent, deleted)}).front();
  }

  static storage::DocumentWrite make(std::string id, std::string body, std::optional<storage::Revision> parent = {},
                                     bool deleted = false) {
    storage::DocumentWrite write;
    write.id = std::move(id);
    write.body = std::move(body);
    write.parent = parent;
    write.deleted = deleted;
    return write;
  }

  Expected<storage::WrittenDocument> replicate(std::string id, std::string body, std::vector<storage::Revision> history,
                                               bool deleted = false) {
    auto write_one = make(std::move(id), std::move(body), {}, deleted);
    write_one.replicated = true;
    write_one.history = std::move(history);
    return write({std::move(write_one)}).front();
  }

  storage::PhysicalPartition& partition() { return *partition_; }
  storage::Tree tree(storage::PartitionTree name) { return partition_->store().tree(static_cast<std::size_t>(name)); }
  storage::SequenceAllocator& sequences() { return *sequences_; }
  storage::Snapshot snapshot() { return std::move(partition_->snapshot()).value(); }
  int commits() const { return commits_; }
  /// What `octavo check` says of the partition. Prints the problems.
  bool is_sound(bool partitioned = true, const storage::TimeToLive* time_to_live = nullptr) {
    const auto report = storage::check_partition(*partition_, partitioned, time_to_live).value();
    for (const auto& problem : report.problems) std::cerr << problem << '\n';
    return report.sound();
  }

 private:
  TemporaryFolder folder_;
  storage::WriterPool writers_{2};
  storage::PhysicalPartition::Options options_;
  std::atomic<int> commits_{0};
  std::shared_ptr<storage::SequenceAllocator> sequences_;
  std::shared_ptr<storage::PhysicalPartition> partition_;
};

}  // namespace octavo::tests

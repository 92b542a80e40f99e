// Data files with damage: bits flipped, bytes set, pages exchanged, the end cut off. The check of the pages must not
// crash whatever it reads; what it passes, LMDB must be able to read and write; and what it passes must open.
#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>

#include "fuzz/packed_inputs.h"
#include "fuzz/target.h"
#include "storage/lmdb/internal/page_check.h"
#include "storage/lmdb/store_check.h"
#include "storage/partition/partition_check.h"
#include "support/sample_partition.h"

namespace {

using namespace octavo;
using namespace octavo::storage;
using octavo::fuzz::InputReader;
using octavo::fuzz::require;

constexpr std::size_t page_bytes = 4096;

std::string make_image() {
  octavo::tests::PartitionFixture fixture;
  octavo::tests::fill_sample_partition(fixture, 50);
  const auto path = fixture.partition().store().options().folder / "data.mdb";
  return octavo::fuzz::read_file(path);
}

/// The file that is damaged and restored.
class DataFile {
 public:
  DataFile() : image_(make_image()) {
    std::filesystem::create_directories(folder());
    octavo::fuzz::write_file(folder() / "data.mdb", image_);
    descriptor_ = ::open((folder() / "data.mdb").c_str(), O_RDWR | O_CLOEXEC);
    require(descriptor_ >= 0, "the file is there");
  }

  std::filesystem::path folder() const { return folder_.path() / "partition"; }

  void damage(InputReader in) {
    for (int step = 0; step < 8 && !in.empty(); ++step) {
      const std::uint8_t action = in.byte();
      // Half of the damage is near the headers, where the structure is.
      std::size_t at = in.number(3) % image_.size();
      if (action & 8) at = at / page_bytes * page_bytes + at % 64;
      switch (action & 7) {
        case 0:
        case 1:
        case 2: {
          char& byte = page_of(at)[at % page_bytes];
          byte = static_cast<char>(byte ^ (1 << (action >> 5)));
          break;
        }
        case 3:
          page_of(at)[at % page_bytes] = static_cast<char>(in.byte());
          break;
        case 4: {
          const std::uint64_t value = in.number(action >> 5);
          const std::size_t size = action & 16 ? 2 : 8;
          std::memcpy(&page_of(at)[std::min(at % page_bytes, page_bytes - size)], &value, size);
          break;
        }
        case 5: {
          const std::size_t from = in.byte() % (image_.size() / page_bytes) * page_bytes;
          std::memcpy(page_of(at).data(), &image_[from], page_bytes);
          break;
        }
        case 6: {
          const std::size_t from = in.number(3) % image_.size();
          const std::size_t count =
              std::min({std::size_t{in.byte()}, image_.size() - from, page_bytes - at % page_bytes});
          std::memcpy(&page_of(at)[at % page_bytes], &image_[from], count);
          break;
        }
        default:
          size_ = action & 16 ? at : (at / page_bytes + 1) * page_bytes;
      }
    }
    for (const auto& [page, bytes] : pages_) write(page * page_bytes, bytes);
    if (size_ != image_.size()) require(::ftruncate(descriptor_, static_cast<off_t>(size_)) == 0, "it can be cut");
  }

  void restore() {
    if (size_ != image_.size()) {
      write(0, image_);
    } else {
      for (const auto& [page, bytes] : pages_) write(page * page_bytes, original(page));
    }
    size_ = image_.size();
    pages_.clear();
  }

 private:
  std::string_view original(std::size_t page) const {
    return std::string_view(image_).substr(page * page_bytes, page_bytes);
  }
  std::string& page_of(std::size_t at) {
    return pages_.try_emplace(at / page_bytes, original(at / page_bytes)).first->second;
  }
  void write(std::size_t at, std::string_view bytes) {
    require(
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at)) == static_cast<ssize_t>(bytes.size()),
        "the file can be written");
  }

  const std::string image_;
  octavo::tests::TemporaryFolder folder_;
  int descriptor_ = -1;
  std::size_t size_ = image_.size();
  std::map<std::size_t, std::string> pages_;  // the damaged ones
};

const std::vector<std::string>& tree_names() {
  static const std::vector<std::string> names(partition_tree_names.begin(), partition_tree_names.end());
  return names;
}

/// All that serving would read, and a write that is given up.
void use(const std::filesystem::path& folder) {
  static WriterPool writers(1);
  PhysicalPartition::Options options;
  options.folder = folder;
  options.durability = config::Durability::ephemeral;
  const auto partition = std::make_shared<PhysicalPartition>(options, writers);
  const auto snapshot = partition->snapshot();
  require(snapshot.has_value(), "what the check passes opens");
  const auto report = check_partition(*partition, true);
  require(report.has_value(), "and can be read to the end");
  const auto reading = partition->store().read();
  require(reading.has_value(), "and can be read");
  for (std::size_t i = 0; i < tree_names().size(); ++i) {
    (void)reading->rows_estimate(partition->store().tree(i), "p1:", "p2:", Closeness::close);
  }
  auto documents = snapshot->documents();
  for (auto document = documents.seek(""); document; document = documents.next()) {
    const auto tree = snapshot->revision_tree(*document);
    if (!tree) continue;
    for (const auto* leaf : tree->leaves()) (void)snapshot->leaf_body(*document, leaf->revision);
  }
  for (auto document = documents.last(); document; document = documents.previous()) (void)document->body.size();
  const auto given_up = partition->store().write(0, [&](WriteTransaction& transaction) -> Expected<void> {
    for (std::size_t i = 0; i < tree_names().size(); ++i) {
      const Tree tree = partition->store().tree(i);
      for (int k = 0; k < 12; ++k) {
        OCTAVO_TRY_VOID(transaction.put(tree, "p1:1" + std::to_string(k * 11), std::string(900, 'v')));
      }
      OCTAVO_TRY_VOID(transaction.erase(tree, "p0:1000"));
    }
    return fail(ErrorCode::internal, "given up");
  });
  require(!given_up, "the write was given up");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static DataFile file;
  file.damage(InputReader(octavo::fuzz::text_of(data, size)));
  CheckReport report;
  check_store(file.folder(), "", report);
  const auto roots = check_roots(file.folder(), tree_names());
  if (size == 0) require(report.sound() && roots, "the file is sound before it is damaged");
  // A tree's name is beyond the pages: there the roots know more.
  if (report.sound() && roots) use(file.folder());
  file.restore();
  return 0;
}

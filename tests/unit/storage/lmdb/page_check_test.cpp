#include "storage/lmdb/internal/page_check.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include <catch2/catch.hpp>

#include "storage/lmdb/internal/page_file.h"
#include "storage/lmdb/store.h"
#include "storage/lmdb/store_check.h"
#include "support/sample_partition.h"

using namespace octavo;
using namespace octavo::storage;

namespace {

const std::vector<std::string> partition_trees(partition_tree_names.begin(), partition_tree_names.end());

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

CheckReport check(const std::filesystem::path& folder) {
  CheckReport report;
  check_store(folder, "", report);
  return report;
}

std::string first_problem(const CheckReport& report) {
  return report.problems.empty() ? "" : report.problems.front();
}

/// A partition's file to be damaged.
class SampleFile {
 public:
  SampleFile() {
    octavo::tests::PartitionFixture fixture;
    octavo::tests::fill_sample_partition(fixture, 150);
    image = read_file(fixture.partition().store().options().folder / "data.mdb");
    restore();
  }
  void restore() { write_file(path(), image); }
  std::filesystem::path folder() const { return folder_.path(); }
  std::filesystem::path path() const { return folder_.path() / "data.mdb"; }

  std::string image;

 private:
  octavo::tests::TemporaryFolder folder_;
};

template <class Integer>
Integer at(std::string_view bytes, std::size_t offset) {
  Integer value;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

/// Offsets of all bytes in a sound file that say how it hangs together: what LMDB follows. Found in LMDB's own terms
/// (headers, offsets, nodes, records), without the product's reader. Nodes begin at even offsets, so the last bit of a
/// size can be wrong without a trace: such bytes are told apart. The size of a value over several pages is structure
/// only as far as it decides on their number.
class StructureBytes {
 public:
  explicit StructureBytes(std::string_view image) : image_(image) {
    const std::size_t newest = at<std::uint64_t>(image, 4096 + 144) > at<std::uint64_t>(image, 144) ? 1 : 0;
    for (const std::size_t meta : {0, 1}) {
      add(meta * 4096, 8);
      add(meta * 4096 + 10, 2);   // flags
      add(meta * 4096 + 16, 16);  // magic, version, address
      add(meta * 4096 + 40, 4);   // page size
      add(meta * 4096 + 144, 8);  // transaction
    }
    const std::size_t meta = newest * 4096;
    add(meta + 16 + 4 + 4 + 16 + 4, 44);
    add(meta + 16 + 4 + 4 + 16 + 48 + 4, 44);
    add(meta + 136, 8);
    tree(meta + 40, false);
    tree(meta + 88, true);
  }
  const std::set<std::size_t>& offsets() const { return offsets_; }
  bool has_free_bit(std::size_t offset) const { return sizes_.contains(offset); }

 private:
  void add(std::size_t offset, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) offsets_.insert(offset + i);
  }
  void tree(std::size_t record, bool of_trees) {
    const auto root = at<std::uint64_t>(image_, record + 40);
    if (root != ~std::uint64_t{0}) page(root * 4096, of_trees);
  }
  void page(std::size_t start, bool of_trees) {
    const bool leaf = at<std::uint16_t>(image_, start + 10) == 2;
    const std::size_t count = (at<std::uint16_t>(image_, start + 12) - 16U) / 2U;
    add(start, 8);
    add(start + 10, 6 + 2 * count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t node = start + at<std::uint16_t>(image_, start + 16 + 2 * i);
      const bool overflows = leaf && at<std::uint16_t>(image_, node + 4) == 1;
      overflows ? add(node + 2, 6) : add(node, 8);
      if (leaf) sizes_.insert(node);
      sizes_.insert(node + 6);
      const std::size_t value = node + 8 + at<std::uint16_t>(image_, node + 6);
      if (!leaf) {
        page((at<std::uint32_t>(image_, node) | std::uint64_t{at<std::uint16_t>(image_, node + 4)} << 32) * 4096,
             of_trees);
      } else if (overflows) {
        add(value, 8);
        const std::size_t overflow = at<std::uint64_t>(image_, value) * 4096;
        add(overflow, 8);
        add(overflow + 10, 6);
      } else if (of_trees) {
        add(value + 4, 44);
        tree(value, false);
      }
    }
  }

  std::string_view image_;
  std::set<std::size_t> offsets_;
  std::set<std::size_t> sizes_;
};

}  // namespace

TEST_CASE("the pages of a sound file are found sound") {
  SampleFile file;
  const auto report = check(file.folder());
  CHECK(first_problem(report).empty());
  CHECK(check_roots(file.folder(), partition_trees));
}

TEST_CASE("no history of writes makes the page check complain") {
  octavo::tests::TemporaryFolder folder;
  Store store({folder.path() / "e", {"a", "b"}, config::Durability::ephemeral});
  REQUIRE(store.create());
  CHECK(check(folder.path() / "e").sound());
  std::mt19937 random(11);
  for (int round = 0; round < 150; ++round) {
    const auto written = store.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
      const std::size_t changes = random() % (round % 10 == 0 ? 400 : 20);
      for (std::size_t i = 0; i < changes; ++i) {
        const Tree tree = store.tree(random() % 2);
        const std::string key = std::string(1 + random() % 3, 'k') + std::to_string(random() % 600) +
                                std::string(random() % 8 == 0 ? 400 : 0, 'l');
        if (random() % 5 < 2) {
          OCTAVO_TRY_VOID(transaction.erase(tree, key));
        } else {
          OCTAVO_TRY_VOID(transaction.put(tree, key, std::string(random() % (random() % 20 == 0 ? 20'000 : 300), 'v')));
        }
      }
      if (round != 100) return {};
      std::vector<std::string> keys;
      {
        Cursor cursor(transaction, store.tree(0));
        for (auto row = cursor.first(); row; row = cursor.next()) keys.emplace_back(row->key);
      }
      for (const auto& key : keys) OCTAVO_TRY_VOID(transaction.erase(store.tree(0), key));
      return {};
    });
    REQUIRE(written);
    const auto report = check(folder.path() / "e");
    INFO("round " << round);
    REQUIRE(first_problem(report).empty());
    REQUIRE(check_roots(folder.path() / "e", std::vector<std::string>{"a", "b"}));
  }
}

TEST_CASE("a transaction that takes pages at the end and gives them back leaves a sound file") {
  octavo::tests::TemporaryFolder folder;
  Store store({folder.path() / "e", {"a"}, config::Durability::ephemeral});
  REQUIRE(store.create());
  REQUIRE(store.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
    OCTAVO_TRY_VOID(transaction.put(store.tree(0), "kept", "1"));
    OCTAVO_TRY_VOID(transaction.put(store.tree(0), "large", std::string(200'000, 'x')));
    OCTAVO_TRY(const bool there, transaction.erase(store.tree(0), "large"));
    CHECK(there);
    return {};
  }));
  CHECK(first_problem(check(folder.path() / "e")).empty());
  CHECK(check_roots(folder.path() / "e", std::vector<std::string>{"a"}));
}

TEST_CASE("every damaged byte of the structure is found") {
  SampleFile file;
  const StructureBytes structure(file.image);
  REQUIRE(structure.offsets().size() > 3000);
  std::mt19937 random(5);
  std::fstream stream(file.path(), std::ios::in | std::ios::out | std::ios::binary);
  std::vector<std::size_t> missed;
  for (const std::size_t offset : structure.offsets()) {
    const char sound = file.image[offset];
    const unsigned bit = structure.has_free_bit(offset) ? 1 + random() % 7 : random() % 8;
    stream.seekp(static_cast<std::streamoff>(offset)).put(static_cast<char>(sound ^ (1 << bit))).flush();
    if (check(file.folder()).sound()) missed.push_back(offset);
    stream.seekp(static_cast<std::streamoff>(offset)).put(sound).flush();
  }
  CHECK(missed == std::vector<std::size_t>{});
  CHECK(check(file.folder()).sound());
}

TEST_CASE("pages that transaction 0 gave back are a damage: LMDB would take them without end") {
  SampleFile file;
  std::uint64_t root = 0;
  {
    const auto sound = PageFile::open(file.path());
    REQUIRE(sound);
    root = sound->meta().free.root;
  }
  const std::size_t node = root * 4096 + at<std::uint16_t>(file.image, root * 4096 + 16);
  std::string damaged = file.image;
  REQUIRE(at<std::uint16_t>(damaged, node + 6) == 8);  // the size of its key
  REQUIRE(at<std::uint64_t>(damaged, node + 8) > 0);
  std::memset(damaged.data() + node + 8, 0, 8);
  write_file(file.path(), damaged);
  CHECK(first_problem(check(file.folder())) == "free pages: a row belongs to no transaction");
}

TEST_CASE("a file that is cut off anywhere is refused before it is opened") {
  SampleFile file;
  for (std::size_t bytes = 0; bytes < file.image.size(); bytes += 2048) {
    std::filesystem::resize_file(file.path(), bytes);
    const bool sound = check(file.folder()).sound();
    INFO(bytes);
    CHECK(check_roots(file.folder(), partition_trees).has_value() == sound);
    // Only pages that are free may be missing unnoticed.
    if (bytes < file.image.size() / 2) CHECK_FALSE(sound);
    file.restore();
  }
}

TEST_CASE("damage to a meta page or to the root of a tree is refused before the file is opened") {
  SampleFile file;
  const auto file_now = PageFile::open(file.path());
  REQUIRE(file_now);
  const auto refused_with = [&](std::size_t offset, char value) {
    std::string damaged = file.image;
    damaged[offset] = value;
    write_file(file.path(), damaged);
    const auto checked = check_roots(file.folder(), partition_trees);
    return !checked && checked.error().code == ErrorCode::corrupted;
  };
  CHECK(refused_with(10, 0));                                           // flags of the first meta page
  CHECK(refused_with(4096 + 16, 'x'));                                  // magic of the second
  CHECK(refused_with(40, 7));                                           // page size
  CHECK(refused_with(file_now->meta().main.root * 4096 + 12, '\xff'));  // free space of the tree of trees
  CHECK(refused_with(file_now->meta().free.root * 4096 + 10, 1));       // kind of page
  const std::size_t name = file.image.find("documents", file_now->meta().main.root * 4096);
  CHECK(refused_with(name, 'D'));  // LMDB would make an empty tree of the right name
}

TEST_CASE("a store whose file is missing or empty is not created again") {
  octavo::tests::TemporaryFolder folder;
  const Store::Options options{folder.path() / "e", {"a"}, config::Durability::ephemeral};
  {
    Store store(options);
    CHECK_FALSE(store.open());
    REQUIRE(store.create());
  }
  for (const bool empty : {true, false}) {
    empty ? std::filesystem::resize_file(folder.path() / "e" / "data.mdb", 0)
          : static_cast<void>(std::filesystem::remove(folder.path() / "e" / "data.mdb"));
    Store store(options);
    const auto opened = store.open();
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == ErrorCode::corrupted);
    CHECK_FALSE(store.read());
  }
}

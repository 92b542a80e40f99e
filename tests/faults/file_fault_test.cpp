// LMDB itself on files that fail: the file layer (tests/crash/file_layer.cpp), which is put under this program, fails
// the first write or sync of an operation, then the second, and so on until it runs through.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "storage/lmdb/store.h"
#include "storage/lmdb/store_compaction.h"

using namespace octavo;
using namespace octavo::storage;
namespace fs = std::filesystem;

namespace {

fs::path root() {
  const char* folder = std::getenv("FILE_LAYER_ROOT");
  return folder == nullptr ? "" : folder;
}

void set_rules(const std::string& rules) {
  const fs::path control = std::getenv("FILE_LAYER_FAULTS");
  const fs::path draft = control.string() + ".new";
  {
    std::ofstream file(draft);
    file << rules;
  }
  fs::rename(draft, control);
}

/// How many faults have happened.
std::size_t fired() {
  std::ifstream file(std::string(std::getenv("FILE_LAYER_FAULTS")) + ".fired");
  return static_cast<std::size_t>(
      std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n'));
}

struct Subject {
  Subject() {
    static int counter = 0;
    options.folder = root() / fmt::format("store-{}", counter++);
    options.trees = {"a"};
    options.capacity_bytes_initial = 4 << 20;
    open();
    REQUIRE(store->create());
    REQUIRE(put("old"));
  }
  ~Subject() {
    store.reset();
    fs::remove_all(options.folder);
  }
  void open() { store = std::make_unique<Store>(options); }
  /// Three rows that always say the same, one of them over several pages.
  Expected<void> put(const std::string& value) {
    return store->write(0, [&](WriteTransaction& transaction) -> Expected<void> {
      std::string large;
      while (large.size() < 20'000) large += value;
      OCTAVO_TRY_VOID(transaction.put(store->tree(0), "1", value));
      OCTAVO_TRY_VOID(transaction.put(store->tree(0), "2", large));
      return transaction.put(store->tree(0), "3", value);
    });
  }
  std::string get() {
    const auto transaction = store->read();
    REQUIRE(transaction);
    const std::string value(**transaction->get(store->tree(0), "1"));
    CHECK((*transaction->get(store->tree(0), "2"))->starts_with(value));
    CHECK(**transaction->get(store->tree(0), "3") == value);
    CHECK_FALSE(store->lost_space(*transaction));
    return value;
  }

  Store::Options options;
  std::unique_ptr<Store> store;
};

struct Rule {
  std::string error;
  std::string operation;
  ErrorCode code;
};

const std::vector<Rule> rule_table = {
    {"eio", "write", ErrorCode::io_failure},          {"eio", "synced-write", ErrorCode::io_failure},
    {"eio", "fdatasync", ErrorCode::io_failure},      {"enospc", "write", ErrorCode::disk_full},
    {"enospc", "synced-write", ErrorCode::disk_full}, {"enospc", "fdatasync", ErrorCode::disk_full},
};

}  // namespace

TEST_CASE("LMDB meets one failing write or sync anywhere in a commit") {
  if (root().empty()) FAIL("run this with the file layer: see tests/faults/CMakeLists.txt");
  for (const Rule& rule : rule_table) {
    for (int skip = 0;; ++skip) {
      CAPTURE(rule.error, rule.operation, skip);
      Subject subject;
      const std::size_t before = fired();
      set_rules(fmt::format("{} {} skip={} times=1\n", rule.error, rule.operation, skip));
      const auto written = subject.put("new");
      set_rules("");
      if (fired() == before) {
        CHECK(written);
        CHECK(skip > 0);
        break;
      }
      REQUIRE_FALSE(written);
      CHECK(written.error().code == rule.code);
      CHECK(subject.get() == "old");
      CHECK(subject.put("newer"));
      CHECK(subject.get() == "newer");
      subject.open();
      CHECK(subject.get() == "newer");
    }
  }
}

TEST_CASE("LMDB meets a disk that fails for a while: reads continue, and so do writes when it is back") {
  for (const Rule& rule : rule_table) {
    CAPTURE(rule.error, rule.operation);
    Subject subject;
    set_rules(fmt::format("{} {}\n", rule.error, rule.operation));
    for (int i = 0; i < 4; ++i) {
      const auto refused = subject.put("new");
      REQUIRE_FALSE(refused);
      CHECK(refused.error().code == rule.code);
      CHECK(subject.get() == "old");
    }
    set_rules("");
    CHECK(subject.put("new"));
    CHECK(subject.get() == "new");
    subject.open();
    CHECK(subject.get() == "new");
  }
}

TEST_CASE("a store that a full disk cut short while it was made can be made again") {
  for (int bytes = 0; bytes <= 40'000; bytes += 4096) {
    CAPTURE(bytes);
    Store::Options options;
    options.folder = root() / fmt::format("made-{}", bytes);
    options.trees = {"a", "b"};
    Store store(options);
    set_rules(fmt::format("enospc write after={}\n", bytes));
    const auto made = store.create();
    set_rules("");
    if (!made) CHECK(made.error().code == ErrorCode::disk_full);
    CHECK(store.create());
    CHECK(store.read());
  }
}

TEST_CASE("a compaction meets one failing write, sync or rename anywhere, and loses no row") {
  for (const char* fault : {"eio write", "enospc write", "eio fdatasync", "eio fsync", "eio rename"}) {
    for (int skip = 0;; ++skip) {
      CAPTURE(fault, skip);
      Subject subject;
      const std::size_t before = fired();
      set_rules(fmt::format("{} skip={} times=1\n", fault, skip));
      const auto compacted = StoreCompaction(*subject.store, {}).run();
      set_rules("");
      const bool has_failed = fired() > before;
      CHECK(compacted.has_value() != has_failed);
      CHECK(subject.get() == "old");
      CHECK_FALSE(fs::exists(subject.options.folder / "new"));
      CHECK(subject.put("newer"));
      subject.open();
      CHECK(subject.get() == "newer");
      CHECK(StoreCompaction(*subject.store, {}).run());
      CHECK(subject.get() == "newer");
      if (!has_failed) {
        CHECK(skip > 0);
        break;
      }
    }
  }
}

TEST_CASE("a compaction that finds the disk full after any number of pages leaves the store as it was") {
  bool is_complete = false;
  for (int bytes = 0; !is_complete; bytes += 4096) {
    CAPTURE(bytes);
    Subject subject;
    set_rules(fmt::format("enospc write after={}\n", bytes));
    const auto compacted = StoreCompaction(*subject.store, {}).run();
    set_rules("");
    is_complete = compacted.has_value();
    if (!is_complete) CHECK(compacted.error().code == ErrorCode::disk_full);
    CHECK(subject.get() == "old");
    CHECK_FALSE(fs::exists(subject.options.folder / "new"));
    CHECK(subject.put("new"));
    CHECK(subject.get() == "new");
    REQUIRE(bytes < 10'000'000);
  }
}

#include "bench/lmdb_limit.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <lmdb.h>

namespace octavo::bench {

namespace {

using Clock = std::chrono::steady_clock;

void check(int code) {
  if (code != MDB_SUCCESS) throw std::runtime_error(fmt::format("LMDB: {}", mdb_strerror(code)));
}

MDB_val value_of(const std::string& bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};
}

/// The finaliser of splitmix64: spreads keys as hashed ids spread.
std::uint64_t scatter(std::uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

class Environment {
 public:
  explicit Environment(const std::filesystem::path& folder) : folder_(folder) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    check(mdb_env_create(&environment_));
    check(mdb_env_set_maxdbs(environment_, 2));
    check(mdb_env_set_mapsize(environment_, std::size_t{64} << 30));
    check(mdb_env_open(environment_, folder_.c_str(), 0, 0644));
    write([&](MDB_txn* transaction) {
      check(mdb_dbi_open(transaction, "documents", MDB_CREATE, &documents_));
      check(mdb_dbi_open(transaction, "feed", MDB_CREATE, &feed_));
    });
  }
  ~Environment() {
    mdb_env_close(environment_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  void write(const std::function<void(MDB_txn*)>& body) {
    MDB_txn* transaction = nullptr;
    check(mdb_txn_begin(environment_, nullptr, 0, &transaction));
    body(transaction);
    check(mdb_txn_commit(transaction));
  }

  void put_document(MDB_txn* transaction, std::uint64_t sequence, const std::string& body) {
    put(transaction, fmt::format("w{:08x}:{}", scatter(sequence) & 0xffffffff, sequence), sequence, body, 0);
  }
  /// `id` sorts after all others.
  void append_document(MDB_txn* transaction, std::string id, std::uint64_t sequence, const std::string& body) {
    put(transaction, std::move(id), sequence, body, MDB_APPEND);
  }

  MDB_env* get() { return environment_; }
  MDB_dbi documents() const { return documents_; }
  MDB_dbi feed() const { return feed_; }

 private:
  void put(MDB_txn* transaction, std::string id, std::uint64_t sequence, const std::string& body, unsigned flags) {
    auto id_value = value_of(id);
    auto body_value = value_of(body);
    check(mdb_put(transaction, documents_, &id_value, &body_value, flags));
    const auto big_endian = __builtin_bswap64(sequence);
    MDB_val sequence_value{sizeof big_endian, const_cast<std::uint64_t*>(&big_endian)};
    check(mdb_put(transaction, feed_, &sequence_value, &id_value, MDB_APPEND));
  }

  std::filesystem::path folder_;
  MDB_env* environment_ = nullptr;
  MDB_dbi documents_ = 0, feed_ = 0;
};

}  // namespace

struct LmdbWriteLimit::Trees {
  explicit Trees(const std::filesystem::path& folder) : environment(folder) {}
  Environment environment;
};

LmdbWriteLimit::LmdbWriteLimit(const std::filesystem::path& folder, std::string body, std::uint64_t documents)
    : trees_(std::make_unique<Trees>(folder)), body_(std::move(body)) {
  constexpr std::uint64_t documents_per_commit = 100'000;
  auto& environment = trees_->environment;
  check(mdb_env_set_flags(environment.get(), MDB_NOSYNC, 1));
  const std::uint64_t step = UINT32_MAX / std::max<std::uint64_t>(documents, 1);
  while (documents_ < documents) {
    environment.write([&](MDB_txn* transaction) {
      const auto end = std::min(documents_ + documents_per_commit, documents);
      for (; documents_ < end; ++documents_) {
        environment.append_document(transaction, fmt::format("w{:08x}:", documents_ * step), documents_ + 1, body_);
      }
    });
  }
  check(mdb_env_sync(environment.get(), 1));
  check(mdb_env_set_flags(environment.get(), MDB_NOSYNC, 0));
}

LmdbWriteLimit::~LmdbWriteLimit() = default;

double LmdbWriteLimit::per_second(unsigned batch, std::chrono::milliseconds duration) {
  const auto before = documents_;
  const auto begin = Clock::now();
  while (Clock::now() - begin < duration) {
    trees_->environment.write([&](MDB_txn* transaction) {
      for (unsigned i = 0; i < batch; ++i) trees_->environment.put_document(transaction, ++documents_, body_);
    });
  }
  return static_cast<double>(documents_ - before) / std::chrono::duration<double>(Clock::now() - begin).count();
}

double lmdb_index_build_per_second(const std::filesystem::path& folder, const std::string& body,
                                   std::uint64_t documents) {
  constexpr std::uint64_t entries_per_commit = 10'000;
  Environment environment(folder);
  check(mdb_env_set_flags(environment.get(), MDB_NOSYNC, 1));
  for (std::uint64_t done = 0; done < documents;) {
    environment.write([&](MDB_txn* transaction) {
      for (std::uint64_t i = 0; i < entries_per_commit && done < documents; ++i) {
        environment.put_document(transaction, ++done, body);
      }
    });
  }
  environment.write([&](MDB_txn* transaction) { check(mdb_drop(transaction, environment.feed(), 0)); });
  check(mdb_env_sync(environment.get(), 1));
  check(mdb_env_set_flags(environment.get(), MDB_NOSYNC, 0));

  const auto begin = Clock::now();
  MDB_txn* reading = nullptr;
  MDB_cursor* cursor = nullptr;
  check(mdb_txn_begin(environment.get(), nullptr, MDB_RDONLY, &reading));
  check(mdb_cursor_open(reading, environment.documents(), &cursor));
  MDB_val id, value;
  std::vector<std::array<std::uint64_t, 2>> keys;
  keys.reserve(documents);
  for (int code = mdb_cursor_get(cursor, &id, &value, MDB_FIRST); code == MDB_SUCCESS;
       code = mdb_cursor_get(cursor, &id, &value, MDB_NEXT)) {
    const auto number = static_cast<std::uint64_t>(keys.size()) + 1;
    keys.push_back({__builtin_bswap64(scatter(number)), __builtin_bswap64(number)});
  }
  const auto in_byte_order = [](const auto& left, const auto& right) {
    return std::memcmp(&left, &right, sizeof left) < 0;
  };
  std::ranges::sort(keys, in_byte_order);
  for (std::size_t next = 0; next < keys.size();) {
    environment.write([&](MDB_txn* transaction) {
      for (std::uint64_t i = 0; i < entries_per_commit && next < keys.size(); ++i, ++next) {
        MDB_val key{sizeof keys[next], keys[next].data()};
        MDB_val entry{sizeof(std::uint64_t) * 2, keys[next].data()};
        check(mdb_put(transaction, environment.feed(), &key, &entry, MDB_APPEND));
      }
    });
  }
  const auto seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  mdb_cursor_close(cursor);
  mdb_txn_abort(reading);
  return static_cast<double>(documents) / seconds;
}

}  // namespace octavo::bench

// Keys beyond LMDB's limit: writes and walks over a tree of long and short keys, in the present form and in that of
// older versions, compared with a std::map.
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/byte_codec.h"
#include "fuzz/target.h"
#include "storage/lmdb/long_key_tree.h"
#include "support/digest_row.h"
#include "support/temporary_folder.h"

namespace {

using namespace octavo;
using namespace octavo::storage;
using octavo::fuzz::InputReader;
using octavo::fuzz::require;

/// One store for all inputs: each runs in a transaction that is given up.
class Storage {
 public:
  Storage()
      : store_({folder_.path() / "store", {"tree", std::string(tree_of_long_keys)}, config::Durability::ephemeral}) {
    require(store_.create().has_value(), "a store can be made");
  }
  template <class Run>
  void in_transaction(Run run) {
    const auto ended = store_.write(0, [&](WriteTransaction& transaction) -> Expected<void> {
      run(transaction, store_.tree(0));
      return fail(ErrorCode::internal, "given up");
    });
    require(!ended, "the transaction was given up");
  }

 private:
  octavo::tests::TemporaryFolder folder_;
  Store store_;
};

/// A key of a few letters, stretched so that its length is near the limits that matter.
std::string take_key(InputReader& in) {
  static constexpr std::array<std::size_t, 16> lengths{1,   2,   479, 480, 481, 482, 495,   496,
                                                       497, 511, 512, 700, 960, 961, 1'441, 1'930};
  const std::uint8_t shape = in.byte();
  std::string key(lengths[shape % lengths.size()], shape & 0x80 ? 'm' : 'k');
  for (int i = shape >> 4 & 3; i > 0; --i) {
    const std::size_t choice = in.byte();
    const auto letter = static_cast<char>(in.byte());
    // Near the end, or around the cuts of long keys.
    const std::size_t cut = choice & 0x80 ? 960 : 480;
    const std::size_t at = choice & 1 ? key.size() - 1 - (choice / 2) % key.size() : cut - 10 + choice / 2 % 20;
    if (at < key.size()) key[at] = letter;
  }
  return key;
}

using Model = std::map<std::string, std::string>;

void require_row(const std::optional<KeyValue>& row, const Model& model, Model::const_iterator expected,
                 const char* what) {
  require(row.has_value() == (expected != model.end()), what);
  if (row) require(row->key == expected->first && row->value == expected->second, what);
}

Model::const_iterator last_not_above(const Model& model, const std::string& key) {
  auto after = model.upper_bound(key);
  return after == model.begin() ? model.end() : std::prev(after);
}

void walk(LongKeyCursor& cursor, InputReader& in, const Model& model) {
  auto expected = model.end();
  const std::uint8_t start = in.byte();
  if (start & 1) {
    expected = model.empty() ? model.end() : std::prev(model.end());
    require_row(cursor.last(), model, expected, "the last row");
  } else {
    const std::string key = take_key(in);
    expected = start & 2 ? model.lower_bound(key) : last_not_above(model, key);
    require_row(start & 2 ? cursor.seek(key) : cursor.seek_back(key), model, expected, "the row sought");
  }
  for (std::uint8_t steps = in.byte(); steps != 0 && expected != model.end(); steps >>= 1) {
    if (steps & 1) {
      require_row(cursor.next(), model, ++expected, "the next row");
    } else {
      expected = expected == model.begin() ? model.end() : std::prev(expected);
      require_row(cursor.previous(), model, expected, "the previous row");
    }
  }
}

void run(WriteTransaction& transaction, Tree tree, InputReader in) {
  Model model;
  for (int step = 0; step < 40 && !in.empty(); ++step) {
    const std::uint8_t operation = in.byte();
    switch (operation & 3) {
      case 0:
      case 1: {
        const std::string key = take_key(in);
        const std::string value(operation >> 2 & 7, static_cast<char>('a' + step % 26));
        const bool as_older = operation & 0x80 && key.size() > long_key::prefix_bytes && !model.contains(key);
        const auto written = as_older ? octavo::tests::put_digest_row(transaction, tree, key, value)
                                      : long_key::put(transaction, tree, key, value);
        require(written.has_value(), "a row can be written");
        model[key] = value;
        break;
      }
      case 2: {
        const std::string key = take_key(in);
        const auto found = long_key::get(transaction, tree, key);
        const auto expected = model.find(key);
        require(found && found->has_value() == (expected != model.end()), "exactly rows that are there are found");
        if (*found) require(**found == expected->second, "with their values");
        if (operation & 4) {
          const auto erased = long_key::erase(transaction, tree, key);
          require(erased && *erased == (expected != model.end()), "exactly rows that are there are erased");
          model.erase(key);
        }
        break;
      }
      default: {
        LongKeyCursor cursor(transaction, tree);
        walk(cursor, in, model);
      }
    }
  }
  LongKeyCursor cursor(transaction, tree);
  auto row = cursor.seek("");
  for (auto expected = model.begin(); expected != model.end(); ++expected, row = cursor.next()) {
    require_row(row, model, expected, "all rows, in order");
  }
  require(!row, "and no others");
  const std::array trees{tree};
  require(!long_key::find_damaged_levels(transaction, trees), "and no rows that belong to no key");
}

/// A row as a damaged file may hold it, of a tree or of the levels of long keys.
Expected<void> put_damaged(WriteTransaction& transaction, Tree tree, InputReader& in) {
  const std::uint8_t kind = in.byte();
  const auto number = [&] {
    std::string value;
    ByteWriter(value).u64(in.byte() % 8);
    return value;
  };
  if (kind & 1) return transaction.put(tree, take_key(in).substr(0, 511), in.bytes(in.byte() % 32));
  if (kind & 2) return transaction.put(tree, std::string(480, kind & 4 ? 'm' : 'k') + '\0', number());
  std::string key;
  append_key_u64(key, in.byte() % 8);
  key += kind & 4 ? std::string(480, static_cast<char>(in.byte())) : std::string(in.bytes(in.byte() % 16));
  key += static_cast<char>(kind & 8 ? 1 : 0);
  return transaction.put(Tree{tree.long_keys}, key, number());
}

/// Walked without reading beyond the rows, and without walking for ever.
void run_damaged(WriteTransaction& transaction, Tree tree, InputReader in) {
  // Several rows may lead to one level, so that its rows are seen more than once.
  constexpr std::size_t steps_max = 10'000;
  for (int rows = 0; rows < 20 && !in.empty(); ++rows) {
    if (!put_damaged(transaction, tree, in)) break;
  }
  LongKeyCursor cursor(transaction, tree);
  std::size_t seen = 0;
  for (auto row = cursor.seek(""); row && seen <= steps_max; row = cursor.next()) ++seen;
  require(seen <= steps_max, "a walk forward ends");
  seen = 0;
  for (auto row = cursor.last(); row && seen <= steps_max; row = cursor.previous()) ++seen;
  require(seen <= steps_max, "a walk back ends");
  const std::array trees{tree};
  static_cast<void>(long_key::find_damaged_levels(transaction, trees));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Storage storage;
  InputReader in(octavo::fuzz::text_of(data, size));
  const bool damaged = in.byte() & 1;
  storage.in_transaction([&](WriteTransaction& transaction, Tree tree) {
    damaged ? run_damaged(transaction, tree, in) : run(transaction, tree, in);
  });
  return 0;
}

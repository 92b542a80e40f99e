#include <algorithm>
#include <cmath>

#include <lmdb.h>

#include "storage/lmdb/internal/tree_size.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {
namespace {

constexpr unsigned leaves_sampled = 64;
/// How full a compaction makes the pages: a row that does not fit begins the next one.
constexpr double dense_fill = 0.97;

std::uint64_t rounded(double number) {
  return static_cast<std::uint64_t>(std::llround(std::max(0.0, number)));
}

}  // namespace

// Pages that are free, and the list of them, are not in the copy that a compaction makes. Values in pages of their own
// take as many there.
Expected<Density> Store::density() {
  OCTAVO_TRY(const ReadTransaction transaction, read());
  MDB_stat environment;
  mdb_env_stat(mdb_txn_env(transaction.handle_), &environment);
  const PageCensus census = page_census(transaction);
  const auto seed = static_cast<std::uint32_t>(mdb_txn_id(transaction.handle_));
  double dense_pages = static_cast<double>(census.meta) + 1;  // with the tree of trees
  Density density;
  for (std::size_t i = 0; i < trees_.size(); ++i) {
    density.row_bytes.push_back(0);
    MDB_stat tree;
    if (trees_[i].handle == Tree::missing || mdb_stat(transaction.handle_, trees_[i].handle, &tree) != 0) continue;
    const auto pages = TreeSize::open(transaction, options_.trees[i]);
    const auto content = pages ? pages->leaf_content(leaves_sampled, seed) : std::nullopt;
    // What is unknown counts as dense.
    const double kept = content ? std::min(1.0, content->fill / dense_fill) : 1;
    const auto walked = static_cast<double>(tree.ms_leaf_pages + tree.ms_branch_pages);
    dense_pages += std::ceil(walked * kept) + static_cast<double>(tree.ms_overflow_pages);
    if (content) density.row_bytes.back() = rounded(content->row_bytes);
  }
  density.file_bytes = census.total * environment.ms_psize;
  density.dense_bytes = std::min(density.file_bytes, rounded(dense_pages) * environment.ms_psize);
  return density;
}

}  // namespace octavo::storage

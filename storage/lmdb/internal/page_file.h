#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

/// Reads LMDB's data file without LMDB, which trusts its pages, so that a file can be checked before LMDB opens it.
/// Nothing in the file is trusted; every offset is checked.
/// LMDB 0.9 with 64 bits; native byte order; pages of the system's size.
///
/// Format (LMDB's data file):
///   file   := meta meta page*                    the meta page of the higher transaction counts
///   page   := number:u64 pad:u16 flags:u16 (lower:u16 upper:u16 offset:u16* … node* | pages:u32 value)
///             flags: 1 branch, 2 leaf, 4 overflow (one value over several pages), 8 meta
///   meta   := number:u64 pad:u16 flags:u16 pad:u32 magic:u32 version:u32 address:u64 map_bytes:u64
///             tree (of free pages, whose pad is the page size) tree (of trees) last_page:u64 transaction:u64
///   tree   := pad:u32 flags:u16 depth:u16 branch_pages:u64 leaf_pages:u64 overflow_pages:u64 entries:u64 root:u64
///   node   := low:u16 high:u16 flags:u16 key_size:u16 key value     nodes fill the page from `upper` to its end
///             leaf: value of (high, low) bytes; flags: 1 it is the number of an overflow page, 2 it is a tree
///             branch: page (flags, high, low); no value; the first key is ignored
namespace octavo::storage {

struct PageTree {
  std::uint32_t pad = 0;
  std::uint16_t flags = 0;
  std::uint16_t depth = 0;
  std::uint64_t branch_pages = 0;
  std::uint64_t leaf_pages = 0;
  std::uint64_t overflow_pages = 0;
  std::uint64_t entries = 0;
  std::uint64_t root = 0;

  static constexpr std::uint64_t no_root = ~std::uint64_t{0};
  static constexpr std::size_t stored_bytes = 48;
  bool empty() const { return root == no_root; }
  /// From stored_bytes bytes.
  static PageTree read(std::string_view bytes);
};

struct MetaPage {
  std::uint64_t address = 0;
  std::uint64_t map_bytes = 0;
  PageTree free;
  PageTree main;
  std::uint64_t last_page = 0;
  std::uint64_t transaction = 0;
};

/// A branch or leaf page whose header, offsets and nodes have all been checked to lie within it.
class TreePage {
 public:
  struct Node {
    std::string_view key;
    std::string_view value;         ///< leaf only; empty if it is stored in overflow pages
    std::uint64_t value_bytes = 0;  ///< leaf only
    std::uint64_t page = 0;         ///< branch: the child; leaf with an overflowing value: its first page
    bool overflows = false;
    bool is_tree = false;
  };

  /// Errors: corrupted, saying what is wrong with the page. `bytes` must live as long as the result.
  static Expected<TreePage> check(std::string_view bytes, std::uint64_t number);

  bool is_leaf() const { return leaf_; }
  std::size_t count() const { return count_; }
  Node node(std::size_t index) const;

 private:
  std::string_view bytes_;
  bool leaf_ = false;
  std::size_t count_ = 0;
};

/// The file; its newest meta page has been read and checked. Reads with pread: unlike in a memory map, neither a short
/// file nor a bad sector raises a signal. One object must not be used by two threads at once.
class PageFile {
 public:
  /// Errors: not_found, io_failure, corrupted (not an LMDB file, damaged meta pages, empty or shorter than two pages).
  static Expected<PageFile> open(const std::filesystem::path& path);
  PageFile(PageFile&& other) noexcept;
  PageFile& operator=(PageFile&&) = delete;
  ~PageFile();

  const MetaPage& meta() const { return metas_[newest_]; }
  const MetaPage& older_meta() const { return metas_[1 - newest_]; }
  std::size_t page_bytes() const { return page_bytes_; }
  /// Number of whole pages in the file. The last pages up to meta().last_page may be missing if they are free and were
  /// never written.
  std::uint64_t pages() const { return pages_; }

  /// Reads one page into `buffer`. Errors: corrupted if the page lies outside the file or beyond the meta page's last
  /// page; io_failure.
  Expected<std::string_view> read(std::uint64_t number, std::vector<char>& buffer) const;
  /// Reads and checks a branch or leaf page.
  Expected<TreePage> read_tree_page(std::uint64_t number, std::vector<char>& buffer) const;
  /// Replaces `value` by the value of a leaf's node, overflowing or not. Errors as above.
  Expected<void> read_value(const TreePage::Node& node, std::string& value) const;
  /// Number of pages of an overflowing value, as stored in its first page. Errors: corrupted if they cannot hold it.
  Expected<std::uint64_t> overflow_pages(const TreePage::Node& node, std::vector<char>& buffer) const;

 private:
  PageFile() = default;
  Expected<void> read_metas();
  Expected<void> read_bytes(std::uint64_t offset, std::span<char> into) const;

  int descriptor_ = -1;
  MetaPage metas_[2];
  std::size_t newest_ = 0;
  std::size_t page_bytes_ = 0;
  std::uint64_t pages_ = 0;
};

}  // namespace octavo::storage

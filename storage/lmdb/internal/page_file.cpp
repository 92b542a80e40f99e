#include "storage/lmdb/internal/page_file.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "storage/lmdb/internal/lmdb_error.h"

namespace octavo::storage {
namespace {

constexpr std::size_t page_header_bytes = 16;
constexpr std::size_t meta_bytes = page_header_bytes + 24 + 2 * PageTree::stored_bytes + 16;
constexpr std::size_t node_header_bytes = 8;
constexpr std::size_t key_bytes_max = 511;
constexpr std::size_t page_bytes_min = 512;
constexpr std::size_t page_bytes_max = 32 * 1024;  // offsets within a page have 16 bits
constexpr std::uint32_t lmdb_magic = 0xBEEFC0DE;
constexpr std::uint32_t page_format_version = 1;
constexpr std::uint16_t branch_page = 1, leaf_page = 2, overflow_page = 4, meta_page = 8;
constexpr std::uint16_t value_overflows = 1, value_is_tree = 2;

template <class Integer>
Integer read_integer(std::string_view bytes, std::size_t at) {
  Integer value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

std::uint64_t number_of(std::string_view page) {
  return read_integer<std::uint64_t>(page, 0);
}
std::uint16_t flags_of(std::string_view page) {
  return read_integer<std::uint16_t>(page, 10);
}

template <class... Arguments>
std::unexpected<Error> damaged(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  return fail(ErrorCode::corrupted, fmt::format(format, std::forward<Arguments>(arguments)...));
}

Error system_error(int code) {
  if (code == EMFILE || code == ENFILE || code == ENOMEM) return error_of(code, {}, {});  // not a fault of the file
  return {code == ENOENT ? ErrorCode::not_found : ErrorCode::io_failure,
          fmt::format("it cannot be read: {}", std::strerror(code)),
          {}};
}

MetaPage meta_of(std::string_view page) {
  MetaPage meta;
  meta.address = read_integer<std::uint64_t>(page, page_header_bytes + 8);
  meta.map_bytes = read_integer<std::uint64_t>(page, page_header_bytes + 16);
  meta.free = PageTree::read(page.substr(page_header_bytes + 24));
  meta.main = PageTree::read(page.substr(page_header_bytes + 24 + PageTree::stored_bytes));
  meta.last_page = read_integer<std::uint64_t>(page, meta_bytes - 16);
  meta.transaction = read_integer<std::uint64_t>(page, meta_bytes - 8);
  return meta;
}

Expected<void> check_meta(std::string_view page, std::uint64_t number) {
  if (number_of(page) != number || flags_of(page) != meta_page) return damaged("page {}: is no meta page", number);
  if (read_integer<std::uint32_t>(page, page_header_bytes) != lmdb_magic)
    return damaged("page {}: is not LMDB's", number);
  const auto version = read_integer<std::uint32_t>(page, page_header_bytes + 4);
  if (version != page_format_version) return damaged("page {}: has format version {}", number, version);
  if (read_integer<std::uint64_t>(page, page_header_bytes + 8) != 0)
    return damaged("page {}: names a fixed address", number);
  return {};
}

}  // namespace

PageTree PageTree::read(std::string_view bytes) {
  PageTree tree;
  tree.pad = read_integer<std::uint32_t>(bytes, 0);
  tree.flags = read_integer<std::uint16_t>(bytes, 4);
  tree.depth = read_integer<std::uint16_t>(bytes, 6);
  tree.branch_pages = read_integer<std::uint64_t>(bytes, 8);
  tree.leaf_pages = read_integer<std::uint64_t>(bytes, 16);
  tree.overflow_pages = read_integer<std::uint64_t>(bytes, 24);
  tree.entries = read_integer<std::uint64_t>(bytes, 32);
  tree.root = read_integer<std::uint64_t>(bytes, 40);
  return tree;
}

Expected<TreePage> TreePage::check(std::string_view bytes, std::uint64_t number) {
  if (number_of(bytes) != number) return damaged("page {}: says that it is page {}", number, number_of(bytes));
  const std::uint16_t flags = flags_of(bytes);
  if (flags != branch_page && flags != leaf_page)
    return damaged("page {}: is no page of a tree (flags {:#x})", number, flags);
  const std::size_t lower = read_integer<std::uint16_t>(bytes, 12);
  const std::size_t upper = read_integer<std::uint16_t>(bytes, 14);
  if (lower < page_header_bytes || lower % 2 != 0 || upper < lower || upper > bytes.size()) {
    return damaged("page {}: its free space from {} to {} is impossible", number, lower, upper);
  }
  TreePage page;
  page.bytes_ = bytes;
  page.leaf_ = flags == leaf_page;
  page.count_ = (lower - page_header_bytes) / 2;
  if (page.count_ == 0) return damaged("page {}: has no keys", number);

  // Nodes lie next to each other, in any order, from `upper` to the end of the page.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> extents;
  extents.reserve(page.count_);
  for (std::size_t i = 0; i < page.count_; ++i) {
    const std::size_t at = read_integer<std::uint16_t>(bytes, page_header_bytes + 2 * i);
    if (at < upper || at % 2 != 0 || at + node_header_bytes > bytes.size()) {
      return damaged("page {}: entry {} lies outside of the page", number, i);
    }
    const std::size_t key_size = read_integer<std::uint16_t>(bytes, at + 6);
    const std::uint16_t node_flags = read_integer<std::uint16_t>(bytes, at + 4);
    std::size_t size = node_header_bytes + key_size;
    if (key_size > key_bytes_max) return damaged("page {}: entry {} has a key of {} bytes", number, i, key_size);
    if (page.leaf_) {
      const std::size_t value_bytes =
          read_integer<std::uint16_t>(bytes, at) | std::size_t{read_integer<std::uint16_t>(bytes, at + 2)} << 16;
      if (node_flags != 0 && node_flags != value_overflows && node_flags != value_is_tree) {
        return damaged("page {}: entry {} has flags {:#x}", number, i, node_flags);
      }
      if (node_flags == value_is_tree && value_bytes != PageTree::stored_bytes) {
        return damaged("page {}: entry {} is a tree of {} bytes", number, i, value_bytes);
      }
      size += node_flags == value_overflows ? sizeof(std::uint64_t) : value_bytes;
    }
    if ((page.leaf_ || i > 0) && key_size == 0) return damaged("page {}: entry {} has no key", number, i);
    if (size > bytes.size() - at) return damaged("page {}: entry {} ends outside of the page", number, i);
    extents.emplace_back(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(size + size % 2));
  }
  std::ranges::sort(extents);
  std::size_t end = upper;
  for (const auto& [at, size] : extents) {
    if (at != end) return damaged("page {}: its entries do not fit together at {}", number, at);
    end = at + size;
  }
  if (end != bytes.size()) return damaged("page {}: its entries end at {}", number, end);
  return page;
}

TreePage::Node TreePage::node(std::size_t index) const {
  const std::size_t at = read_integer<std::uint16_t>(bytes_, page_header_bytes + 2 * index);
  const std::uint64_t low = read_integer<std::uint16_t>(bytes_, at);
  const std::uint64_t high = read_integer<std::uint16_t>(bytes_, at + 2);
  const std::uint64_t flags = read_integer<std::uint16_t>(bytes_, at + 4);
  const std::size_t key_size = read_integer<std::uint16_t>(bytes_, at + 6);
  Node node;
  node.key = bytes_.substr(at + node_header_bytes, key_size);
  if (!leaf_) {
    node.page = low | high << 16 | flags << 32;
    return node;
  }
  node.value_bytes = low | high << 16;
  node.overflows = flags == value_overflows;
  node.is_tree = flags == value_is_tree;
  if (node.overflows) {
    node.page = read_integer<std::uint64_t>(bytes_, at + node_header_bytes + key_size);
  } else {
    node.value = bytes_.substr(at + node_header_bytes + key_size, node.value_bytes);
  }
  return node;
}

Expected<PageFile> PageFile::open(const std::filesystem::path& path) {
  PageFile file;
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file.descriptor_ < 0) return std::unexpected(system_error(errno));
  OCTAVO_TRY_VOID(file.read_metas());
  return file;
}

PageFile::PageFile(PageFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      metas_{other.metas_[0], other.metas_[1]},
      newest_(other.newest_),
      page_bytes_(other.page_bytes_),
      pages_(other.pages_) {}

PageFile::~PageFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Expected<void> PageFile::read_metas() {
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0) return std::unexpected(system_error(errno));
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  if (file_bytes < 2 * page_bytes_min) return damaged("the file is cut off: it has {} bytes", file_bytes);
  char bytes[meta_bytes];
  for (std::uint64_t number = 0; number < 2; ++number) {
    if (page_bytes_ * number + meta_bytes > file_bytes)
      return damaged("the file is cut off: it has {} bytes", file_bytes);
    OCTAVO_TRY_VOID(read_bytes(page_bytes_ * number, bytes));
    const std::string_view page(bytes, meta_bytes);
    OCTAVO_TRY_VOID(check_meta(page, number));
    metas_[number] = meta_of(page);
    const std::size_t page_bytes = metas_[number].free.pad;
    if (number == 0) {
      if (!std::has_single_bit(page_bytes) || page_bytes < page_bytes_min || page_bytes > page_bytes_max) {
        return damaged("page 0: says that pages have {} bytes", page_bytes);
      }
      page_bytes_ = page_bytes;
    } else if (page_bytes != page_bytes_) {
      return damaged("page 1: says that pages have {} bytes, page 0 says {}", page_bytes, page_bytes_);
    }
    // Transactions write the two pages in turn; in a new file both meta pages have transaction 0.
    if (metas_[number].transaction != 0 && metas_[number].transaction % 2 != number) {
      return damaged("page {}: transaction {} does not belong there", number, metas_[number].transaction);
    }
  }
  newest_ = metas_[1].transaction > metas_[0].transaction ? 1 : 0;
  pages_ = file_bytes / page_bytes_;
  if (meta().last_page < 1) return damaged("page {}: says that there are no pages", newest_);
  // Pages beyond the end of the file are on the list of free pages, which takes 8 bytes in the file per page.
  if (meta().last_page / (page_bytes_ / 8 + 1) >= pages_) {
    return damaged("the file is cut off: it has {} pages of {}", pages_, meta().last_page + 1);
  }
  return {};
}

Expected<void> PageFile::read_bytes(std::uint64_t offset, std::span<char> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = ::pread(descriptor_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return fail(ErrorCode::io_failure,
                  fmt::format("the file cannot be read at {}: {}", offset, std::strerror(errno)));
    }
    if (got == 0) return damaged("the file is cut off at {}", offset + done);
    done += static_cast<std::size_t>(got);
  }
  return {};
}

Expected<std::string_view> PageFile::read(std::uint64_t number, std::vector<char>& buffer) const {
  if (number < 2 || number > meta().last_page) return damaged("page {}: there is no such page", number);
  if (number >= pages_) return damaged("page {}: the file is cut off before it", number);
  buffer.resize(page_bytes_);
  OCTAVO_TRY_VOID(read_bytes(number * page_bytes_, buffer));
  return std::string_view(buffer.data(), buffer.size());
}

Expected<TreePage> PageFile::read_tree_page(std::uint64_t number, std::vector<char>& buffer) const {
  OCTAVO_TRY(const auto bytes, read(number, buffer));
  return TreePage::check(bytes, number);
}

Expected<std::uint64_t> PageFile::overflow_pages(const TreePage::Node& node, std::vector<char>& buffer) const {
  OCTAVO_TRY(const auto bytes, read(node.page, buffer));
  if (number_of(bytes) != node.page) {
    return damaged("page {}: says that it is page {}", node.page, number_of(bytes));
  }
  if (flags_of(bytes) != overflow_page) {
    return damaged("page {}: should hold a value (flags {:#x})", node.page, flags_of(bytes));
  }
  const std::uint64_t count = read_integer<std::uint32_t>(bytes, 12);
  const std::uint64_t needed = (page_header_bytes + node.value_bytes - 1) / page_bytes_ + 1;
  if (count < needed || count > pages_ - node.page || node.page + count - 1 > meta().last_page) {
    return damaged("page {}: {} pages cannot hold a value of {} bytes", node.page, count, node.value_bytes);
  }
  return count;
}

Expected<void> PageFile::read_value(const TreePage::Node& node, std::string& value) const {
  value.assign(node.value);
  if (!node.overflows) return {};
  std::vector<char> buffer;
  if (const auto pages = overflow_pages(node, buffer); !pages) return std::unexpected(pages.error());
  value.resize(node.value_bytes);
  return read_bytes(node.page * page_bytes_ + page_header_bytes, value);
}

}  // namespace octavo::storage

#include "storage/lmdb/internal/page_check.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/function_ref.h"
#include "storage/lmdb/internal/page_file.h"
#include "storage/lmdb/store_check.h"

namespace octavo::storage {
namespace {

constexpr const char* pages_file = "data.mdb";
constexpr std::uint16_t integer_keys_flag = 8;  // flag of the tree of free pages
constexpr std::uint16_t tree_depth_max = 32;    // LMDB's cursors go no deeper
constexpr std::string_view free_tree = "free pages";
constexpr std::string_view main_tree = "tree of trees";

std::unexpected<Error> unsound(std::string reason) {
  return fail(ErrorCode::corrupted, std::move(reason));
}

std::uint64_t read_native_u64(std::string_view bytes, std::size_t index) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + 8 * index, sizeof(value));
  return value;
}

/// Checks a tree's record by itself, without reading its pages.
Expected<void> check_record(std::string_view name, const PageTree& tree) {
  const std::uint16_t flags = name == free_tree ? integer_keys_flag : 0;
  if (tree.flags != flags) return unsound(fmt::format("tree '{}': has flags {:#x}", name, tree.flags));
  if (tree.depth > tree_depth_max || tree.empty() != (tree.depth == 0)) {
    return unsound(fmt::format("tree '{}': has depth {}", name, tree.depth));
  }
  if (tree.empty() && (tree.branch_pages | tree.leaf_pages | tree.overflow_pages | tree.entries) != 0) {
    return unsound(fmt::format("tree '{}': is empty and has {} entries", name, tree.entries));
  }
  return {};
}

/// LMDB ends the process at a branch page with one key, except among the free pages.
Expected<void> check_branch(std::string_view name, const TreePage& page, std::uint64_t number) {
  if (page.is_leaf() || page.count() > 1 || name == free_tree) return {};
  return unsound(fmt::format("page {}: has one key only", number));
}

/// Walks an unchecked tree, page by page, visiting the nodes of its leaves. Branch pages may form cycles, or share
/// children; limits on the depth and the number of pages end the walk.
struct LeafWalk {
  const PageFile& file;
  std::string_view name;
  FunctionRef<Expected<void>(const TreePage::Node&)> visit;
  std::uint64_t pages_left = file.pages();

  Expected<void> run(std::uint64_t number, unsigned depth_left) {
    if (depth_left == 0 || pages_left-- == 0) return unsound(fmt::format("page {}: lies too deep", number));
    std::vector<char> buffer;
    OCTAVO_TRY(const TreePage page, file.read_tree_page(number, buffer));
    OCTAVO_TRY_VOID(check_branch(name, page, number));
    for (std::size_t i = 0; i < page.count(); ++i) {
      const TreePage::Node node = page.node(i);
      if (page.is_leaf()) {
        OCTAVO_TRY_VOID(visit(node));
      } else {
        OCTAVO_TRY_VOID(run(node.page, depth_left - 1));
      }
    }
    return {};
  }
};

Expected<void> walk_leaves(const PageFile& file, std::string_view name, const PageTree& tree,
                           FunctionRef<Expected<void>(const TreePage::Node&)> visit) {
  if (tree.empty()) return {};
  return LeafWalk{file, name, visit}.run(tree.root, tree.depth);
}

/// The numbers in one row of the tree of free pages: count:u64 number:u64*, in descending order.
Expected<std::vector<std::uint64_t>> free_pages_of(const PageFile& file, const TreePage::Node& node) {
  const std::string_view key = node.key;
  // LMDB would use the pages of transaction 0, which never exists, again and again.
  const std::uint64_t transaction = key.size() == 8 ? read_native_u64(key, 0) : 0;
  if (transaction == 0 || transaction > file.meta().transaction || node.is_tree) {
    return unsound("free pages: a row belongs to no transaction");
  }
  std::string value;
  OCTAVO_TRY_VOID(file.read_value(node, value));
  const std::uint64_t count = value.size() < 8 ? 0 : read_native_u64(value, 0);
  if (value.size() < 8 || value.size() % 8 != 0 || count > value.size() / 8 - 1) {
    return unsound(fmt::format("free pages: a row of {} bytes cannot hold {} numbers", value.size(), count));
  }
  std::vector<std::uint64_t> numbers;
  numbers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t number = read_native_u64(value, 1 + i);
    if (number < 2 || number > file.meta().last_page || (i > 0 && number >= numbers.back())) {
      return unsound(fmt::format("free pages: {} cannot be on the list", number));
    }
    numbers.push_back(number);
  }
  return numbers;
}

/// Every page beyond the end of the file must be free: LMDB does not write pages that a transaction took and gave back.
Expected<void> check_length(const PageFile& file) {
  if (file.pages() > file.meta().last_page) return {};
  std::vector<std::uint64_t> missing;
  OCTAVO_TRY_VOID(walk_leaves(file, free_tree, file.meta().free, [&](const TreePage::Node& node) -> Expected<void> {
    OCTAVO_TRY(const auto numbers, free_pages_of(file, node));
    for (const std::uint64_t number : numbers) {
      if (number >= file.pages()) missing.push_back(number);
    }
    return {};
  }));
  std::ranges::sort(missing);
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  if (missing.size() != file.meta().last_page + 1 - file.pages()) {
    return unsound(fmt::format("the file is cut off: it has {} pages of {}", file.pages(), file.meta().last_page + 1));
  }
  return {};
}

Expected<void> check_root(const PageFile& file, std::string_view name, const PageTree& tree) {
  OCTAVO_TRY_VOID(check_record(name, tree));
  if (tree.empty()) return {};
  std::vector<char> buffer;
  OCTAVO_TRY(const TreePage root, file.read_tree_page(tree.root, buffer));
  OCTAVO_TRY_VOID(check_branch(name, root, tree.root));
  if (root.is_leaf() != (tree.depth == 1)) return unsound(fmt::format("tree '{}': its root is another page", name));
  if (root.is_leaf() && root.count() != tree.entries) {
    return unsound(fmt::format("tree '{}': {} entries, there should be {}", name, root.count(), tree.entries));
  }
  return {};
}

Expected<void> check_all_roots(const PageFile& file, std::span<const std::string> trees) {
  const PageTree& main = file.meta().main;
  OCTAVO_TRY_VOID(check_root(file, free_tree, file.meta().free));
  OCTAVO_TRY_VOID(check_root(file, main_tree, main));
  if (main.entries > trees.size()) return unsound(fmt::format("it has {} trees", main.entries));
  OCTAVO_TRY_VOID(walk_leaves(file, main_tree, main, [&](const TreePage::Node& node) -> Expected<void> {
    if (!node.is_tree) return unsound("tree of trees: a row is no tree");
    // If a tree has another name, LMDB would create the expected one, empty.
    if (std::ranges::find(trees, node.key) == trees.end()) {
      return unsound(fmt::format("tree '{}': there should be no such tree", node.key));
    }
    return check_root(file, node.key, PageTree::read(node.value));
  }));
  return check_length(file);
}

/// Checks all pages of one file.
class PageChecker {
 public:
  PageChecker(const PageFile& file, std::string_view label, CheckReport& report)
      : file_(file), label_(label), report_(report), seen_(file.meta().last_page + 1) {}

  void run() {
    const MetaPage& meta = file_.meta();
    seen_[0] = seen_[1] = true;
    check_metas();
    check_tree(free_tree, meta.free, [&](const TreePage::Node& node) { take_free_pages(node); });
    check_tree(main_tree, meta.main, [&](const TreePage::Node& node) {
      if (!node.is_tree) {
        problem(fmt::format("tree of trees: row '{}' is no tree", node.key));
        return;
      }
      check_tree(node.key, PageTree::read(node.value), [&](const TreePage::Node& row) {
        if (row.is_tree) problem(fmt::format("tree '{}': a row is a tree", node.key));
      });
    });
    check_unaccounted();
  }

 private:
  using Visit = FunctionRef<void(const TreePage::Node&)>;
  /// Keys of a page lie in [low, high).
  struct Bounds {
    std::optional<std::string> low, high;
  };
  struct Walk {
    std::string_view name;
    bool integer_keys = false;
    std::uint16_t depth = 0;
    PageTree counted;
    Visit visit;
  };

  void problem(std::string_view what) { report_.add(fmt::format("{}{}", label_, what)); }

  void check_metas() {
    const MetaPage& meta = file_.meta();
    const std::uint64_t older = file_.older_meta().transaction;
    // Consecutive commits write the two meta pages in turn, so one cannot be far behind the other.
    if (meta.transaction - older > 1) {
      problem(fmt::format("meta pages: of transactions {} and {}, which do not follow each other", older,
                          meta.transaction));
    }
    if (meta.map_bytes % file_.page_bytes() != 0) problem(fmt::format("meta pages: a map of {} bytes", meta.map_bytes));
  }

  void check_tree(std::string_view name, const PageTree& tree, Visit visit) {
    if (const auto record = check_record(name, tree); !record) {
      problem(record.error().reason);
      return;
    }
    if (tree.empty()) return;
    Walk walk{name, name == free_tree, tree.depth, {}, visit};
    check_page(walk, tree.root, 1, {});
    const auto compare = [&](std::string_view what, std::uint64_t counted, std::uint64_t recorded) {
      if (counted != recorded)
        problem(fmt::format("tree '{}': {} {}, its record says {}", name, counted, what, recorded));
    };
    compare("branch pages", walk.counted.branch_pages, tree.branch_pages);
    compare("leaf pages", walk.counted.leaf_pages, tree.leaf_pages);
    compare("overflow pages", walk.counted.overflow_pages, tree.overflow_pages);
    compare("entries", walk.counted.entries, tree.entries);
  }

  bool take(std::string_view name, std::uint64_t number) {
    if (number < seen_.size() && !seen_[number]) {
      seen_[number] = true;
      return true;
    }
    problem(number < seen_.size() ? fmt::format("{}: page {} is in use twice", name, number)
                                  : fmt::format("{}: there is no page {}", name, number));
    return false;
  }

  void check_page(Walk& walk, std::uint64_t number, std::uint16_t level, const Bounds& bounds) {
    // Each page is entered once, so the walk ends whatever the pages contain.
    if (!take(walk.name, number)) return;
    std::vector<char> buffer;
    const auto page = file_.read_tree_page(number, buffer);
    if (!page) {
      problem(fmt::format("tree '{}': {}", walk.name, page.error().reason));
      return;
    }
    if (page->is_leaf() != (level == walk.depth)) {
      problem(fmt::format("tree '{}': page {} at level {} of {}", walk.name, number, level, walk.depth));
      return;
    }
    if (const auto branch = check_branch(walk.name, *page, number); !branch) problem(branch.error().reason);
    ++(page->is_leaf() ? walk.counted.leaf_pages : walk.counted.branch_pages);
    check_order(walk, *page, number, bounds);
    for (std::size_t i = 0; i < page->count(); ++i) {
      const TreePage::Node node = page->node(i);
      if (page->is_leaf()) {
        ++walk.counted.entries;
        if (node.overflows && !take_value(walk, node)) continue;
        walk.visit(node);
        continue;
      }
      Bounds inner = bounds;
      if (i > 0) inner.low = node.key;
      if (i + 1 < page->count()) inner.high = page->node(i + 1).key;
      check_page(walk, node.page, static_cast<std::uint16_t>(level + 1), inner);
    }
  }

  static bool before(const Walk& walk, std::string_view a, std::string_view b) {
    return walk.integer_keys ? read_native_u64(a, 0) < read_native_u64(b, 0) : a < b;
  }

  void check_order(const Walk& walk, const TreePage& page, std::uint64_t number, const Bounds& bounds) {
    const std::size_t first = page.is_leaf() ? 0 : 1;
    for (std::size_t i = first; i < page.count(); ++i) {
      const std::string_view key = page.node(i).key;
      if (walk.integer_keys && key.size() != 8) {
        problem(fmt::format("tree '{}': page {}: key {} is no number", walk.name, number, i));
        return;
      }
      const bool in_order = i == first || before(walk, page.node(i - 1).key, key);
      const bool above = !bounds.low || !before(walk, key, *bounds.low);
      const bool below = !bounds.high || before(walk, key, *bounds.high);
      if (!in_order || !above || !below) {
        problem(fmt::format("tree '{}': page {}: key {} is out of order", walk.name, number, i));
        return;
      }
    }
  }

  bool take_value(Walk& walk, const TreePage::Node& node) {
    std::vector<char> buffer;
    const auto pages = file_.overflow_pages(node, buffer);
    if (!pages) {
      problem(fmt::format("tree '{}': {}", walk.name, pages.error().reason));
      return false;
    }
    walk.counted.overflow_pages += *pages;
    bool free = true;
    for (std::uint64_t i = 0; i < *pages && free; ++i) free = take(walk.name, node.page + i);
    return free;
  }

  void take_free_pages(const TreePage::Node& node) {
    const auto numbers = free_pages_of(file_, node);
    if (!numbers) {
      problem(numbers.error().reason);
      return;
    }
    for (const std::uint64_t number : *numbers) take(free_tree, number);
  }

  void check_unaccounted() {
    std::uint64_t lost = 0;
    std::uint64_t first = 0;
    for (std::uint64_t number = 0; number < seen_.size(); ++number) {
      if (seen_[number]) continue;
      if (lost++ == 0) first = number;
    }
    if (lost != 0) problem(fmt::format("{} pages, the first of them {}, are neither in a tree nor free", lost, first));
  }

  const PageFile& file_;
  std::string_view label_;
  CheckReport& report_;
  std::vector<bool> seen_;
};

}  // namespace

Expected<void> check_roots(const std::filesystem::path& folder, std::span<const std::string> trees) {
  const std::filesystem::path path = folder / pages_file;
  const auto file = PageFile::open(path);
  const auto checked = file ? check_all_roots(*file, trees) : std::unexpected(file.error());
  if (checked || checked.error().code == ErrorCode::overloaded) return checked;
  return fail(checked.error().code, fmt::format("{} is damaged: {}", path.string(), checked.error().reason));
}

void check_store(const std::filesystem::path& folder, std::string_view label, CheckReport& report) {
  const auto file = PageFile::open(folder / pages_file);
  if (!file) {
    report.add(fmt::format("{}{}", label, file.error().reason));
    return;
  }
  PageChecker(*file, label, report).run();
}

}  // namespace octavo::storage

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "query/mango/prepared_find.h"
#include "query/walk/bookmark.h"
#include "query/walk/walked_part.h"

namespace octavo::query {

/// Where a page of a _find ends: after its last result, or after the last document examined if the page is stopped.
class PageEnd {
 public:
  /// `prepared` must outlive this.
  explicit PageEnd(const PreparedFind& prepared) : prepared_(prepared) {}

  /// The last result is at `position` in a branch of the plan with this number.
  void move_to(std::string_view position, std::size_t branch, std::size_t plan) {
    if (!last_ || last_->branch != branch || plan_ != plan) begin(branch, plan);
    last_->key.assign(position);
  }
  /// The last result has this key in a sort.
  void move_to_sorted(std::string_view key, std::size_t plan);
  /// Whether the page has passed nothing.
  bool is_at_beginning() const { return !last_; }
  /// The plan that returned the last result.
  std::size_t plan() const { return plan_; }

  /// From now on, documents that are examined are remembered.
  void follow() { follows_ = true; }
  void see(std::string_view position, std::size_t branch) {
    if (follows_) remember(position, branch);
  }
  /// Another plan examines documents from now on.
  void forget_seen() { has_seen_ = false; }
  /// Moves to the last document examined. False: there is none.
  bool move_to_seen(std::size_t plan);

  /// Without what other plans have returned, and without the cost. nullopt: the page has passed nothing.
  std::optional<Bookmark> bookmark() const;
  /// What recognises the results of another plan if its index should be gone by the next page; empty: nothing.
  std::string describe(const WalkedPart& part) const;

 private:
  void begin(std::size_t branch, std::size_t plan);
  void remember(std::string_view position, std::size_t branch);
  std::string describe(const IndexDefinition& index, bool down) const;

  const PreparedFind& prepared_;
  std::optional<Bookmark> last_;
  std::size_t plan_ = 0;
  bool follows_ = false;
  bool has_seen_ = false;
  std::string seen_;  ///< key of the last document examined
  std::size_t seen_branch_ = 0;
};

}  // namespace octavo::query

#include "query/sql/run/internal/left_walk.h"

#include "query/index/index_entry.h"
#include "query/sql/run/internal/entry_keys.h"

namespace octavo::query::sql {

LeftWalk::LeftWalk(const PreparedSql& prepared, Evaluation& evaluation, const Combinations& combinations,
                   DocumentParser& parser)
    : prepared_(prepared), evaluation_(evaluation), combinations_(combinations), parser_(parser) {}

bool LeftWalk::has_progressed() const {
  const auto& continuation = prepared_.continuation;
  return reached_ && !(continuation && *reached_ == continuation->key);
}

void LeftWalk::leave(IndexPosition position, double spent) {
  position_ = std::move(position);
  spent_ = spent;
}

std::optional<std::string> LeftWalk::sort_by_entries() {
  sorts_by_entries_ = true;
  if (!reached_) return std::nullopt;
  if (!prepared_.plan().branches[0].index) position_.key = reached_;
  std::string behind;
  append_position_behind(behind, *reached_, {}, prepared_.plan().descending);
  return behind;
}

bool LeftWalk::find_entry() {
  const storage::DocumentView& document = evaluation_.row.document();
  if (const auto& index = prepared_.plan().branches[0].index) {
    const auto root = parser_.parse(document.body);
    if (!root || !evaluation_.work(document.body.size())) return false;
    auto entries = entries_in(*index->definition, {*root, document.body, document.id, document.revision}, scratch_);
    if (entries.empty()) return false;
    entry_ = std::move(entries.front());
  } else {
    entry_ = document.id;
  }
  return true;
}

const std::string* LeftWalk::make_key() {
  if (!find_entry()) return nullptr;
  key_.clear();
  append_entry(key_, entry_, prepared_.plan().descending);
  append_positions(key_, combinations_.positions());
  return &key_;
}

}  // namespace octavo::query::sql

#include "query/project/internal/settlement.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/byte_codec.h"
#include "base/digest.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::query::project {

namespace {

namespace long_key = storage::long_key;

/// Rows that are kept while a document's other rows may be asked for.
constexpr std::size_t evaluated_bytes_max = 8ULL << 20;

std::string digest_of(std::string_view body) {
  const auto digest = crypto::sha256(body);
  return {digest.data(), 16};
}

std::string claim_key(std::string_view target, std::string_view source) {
  std::string key;
  append_escaped(key, target);
  key += source;
  return key;
}

/// The rows of one partition key: the beginning of their ranks.
std::string group_of(std::string_view rank) {
  ByteReader reader(rank);
  reader.sized_bytes();
  return std::string(rank.substr(0, rank.size() - reader.rest().size()));
}

void count_skipped(ProjectionState::Numbers& numbers, ProjectedDocument::Skip skip, int change) {
  auto add = [change](std::uint64_t& number) { number += static_cast<std::uint64_t>(change); };
  if (skip == ProjectedDocument::Skip::no_key) add(numbers.without_key);
  if (skip == ProjectedDocument::Skip::error) add(numbers.errors);
}

}  // namespace

Expected<Settlement::Touched*> Settlement::touch(std::string_view target) {
  if (const auto known = touched_.find(target); known != touched_.end()) return &known->second;
  Touched touched;
  OCTAVO_TRY(const auto stored, long_key::get(transaction_, tree(StateTree::rows), target));
  if (stored) {
    OCTAVO_TRY(touched.before, decode_row(*stored));
    touched.after = touched.before;
  }
  OCTAVO_TRY(const bool was_refused, long_key::erase(transaction_, tree(StateTree::refused), target));
  if (was_refused) {
    touched.must_be_written = true;
    --numbers_.occupied;
  }
  return &touched_.emplace(target, std::move(touched)).first->second;
}

Expected<void> Settlement::change(const SourceChange& change) {
  batch_.emplace(change.id, &change.result);
  SourceRecord before;
  OCTAVO_TRY(const auto stored, long_key::get(transaction_, tree(StateTree::sources), change.id));
  if (stored) {
    OCTAVO_TRY(before, decode_source(*stored));
  }
  SourceRecord after;
  after.skip = change.result.skip;
  after.join_keys = change.result.join_keys;
  for (const ProjectedRow& row : change.result.rows) after.targets.push_back(row.id);
  std::ranges::sort(after.targets);
  count_skipped(numbers_, before.skip, -1);
  count_skipped(numbers_, after.skip, 1);
  for (const std::string& target : before.targets) {
    if (!std::ranges::binary_search(after.targets, target)) OCTAVO_TRY_VOID(give_up(target, change.id));
  }
  for (const std::string& target : after.targets) {
    if (std::ranges::binary_search(before.targets, target)) {
      OCTAVO_TRY_VOID(touch(target));
    } else {
      OCTAVO_TRY_VOID(claim(target, change.id));
    }
  }
  OCTAVO_TRY_VOID(refer(change.id, before, after));
  if (after.is_empty()) {
    if (stored) OCTAVO_TRY_VOID(long_key::erase(transaction_, tree(StateTree::sources), change.id));
    return {};
  }
  return long_key::put(transaction_, tree(StateTree::sources), change.id, encode_source(after));
}

Expected<void> Settlement::refer(const std::string& source, const SourceRecord& before, const SourceRecord& after) {
  const storage::Tree referrers = tree(StateTree::referrers);
  const auto key_of = [](const SourceRecord& record, std::size_t join) {
    return join < record.join_keys.size() ? record.join_keys[join] : std::nullopt;
  };
  for (std::size_t join = 0; join < std::max(before.join_keys.size(), after.join_keys.size()); ++join) {
    const auto old_key = key_of(before, join);
    const auto new_key = key_of(after, join);
    if (old_key == new_key) continue;
    if (old_key) {
      OCTAVO_TRY_VOID(long_key::erase(transaction_, referrers, referrer_key(join, *old_key, source)));
    }
    if (new_key) {
      OCTAVO_TRY_VOID(long_key::put(transaction_, referrers, referrer_key(join, *new_key, source), {}));
    }
  }
  return {};
}

Expected<void> Settlement::add_to_count(std::size_t join, std::string_view key, int change) {
  const std::string row = join_key(join, key);
  std::uint64_t number = 0;
  OCTAVO_TRY(const auto stored, long_key::get(transaction_, tree(StateTree::counts), row));
  if (stored) number = ByteReader(*stored).varint();
  number += static_cast<std::uint64_t>(change);
  if (number == 0) {
    OCTAVO_TRY_VOID(long_key::erase(transaction_, tree(StateTree::counts), row));
  } else {
    std::string value;
    ByteWriter(value).varint(number);
    OCTAVO_TRY_VOID(long_key::put(transaction_, tree(StateTree::counts), row, value));
  }
  return fan_out(join, key);
}

// What each member counted for is known, so a change or a deletion is subtracted exactly once.
Expected<void> Settlement::count(const ProjectionState::Member& member) {
  const storage::Tree members = tree(StateTree::members);
  const std::string row = join_key(member.join, member.id);
  std::optional<std::string> before;
  OCTAVO_TRY(const auto stored, long_key::get(transaction_, members, row));
  if (stored) before = *stored;
  if (before == member.key) return {};
  if (before) OCTAVO_TRY_VOID(add_to_count(member.join, *before, -1));
  if (!member.key) {
    OCTAVO_TRY_VOID(long_key::erase(transaction_, members, row));
    return {};
  }
  OCTAVO_TRY_VOID(add_to_count(member.join, *member.key, 1));
  return long_key::put(transaction_, members, row, *member.key);
}

Expected<void> Settlement::fan_out(std::size_t join, std::string_view key) {
  const std::string prefix = referrer_key(join, key);
  {
    storage::LongKeyCursor cursor(transaction_, tree(StateTree::referrers));
    const auto first = cursor.seek(prefix);
    if (!first || !first->key.starts_with(prefix)) return {};
  }
  const std::string row = join_key(join, key);
  FanOutRecord record;
  OCTAVO_TRY(const auto stored, long_key::get(transaction_, tree(StateTree::fan_outs), row));
  if (stored) {
    OCTAVO_TRY(record, decode_fan_out(*stored));
    // To start over at each change would never end.
    record.again = record.again || !record.position.empty();
  } else {
    ++numbers_.fan_outs;
  }
  return long_key::put(transaction_, tree(StateTree::fan_outs), row, encode_fan_out(record));
}

Expected<void> Settlement::advance(const ProjectionState::FanOutStep& step) {
  const std::string row = join_key(step.join, step.key);
  OCTAVO_TRY(const auto stored, long_key::get(transaction_, tree(StateTree::fan_outs), row));
  if (!stored) return fail(ErrorCode::corrupted, "A fan-out of a projection is missing in its state.");
  OCTAVO_TRY(FanOutRecord record, decode_fan_out(*stored));
  if (!step.sources.empty()) {
    record.position = step.sources.back();
    record.visited += step.sources.size();
  } else if (record.again) {
    record = {};
  } else {
    --numbers_.fan_outs;
    OCTAVO_TRY_VOID(long_key::erase(transaction_, tree(StateTree::fan_outs), row));
    return {};
  }
  return long_key::put(transaction_, tree(StateTree::fan_outs), row, encode_fan_out(record));
}

Expected<void> Settlement::look_again(std::string_view target) {
  OCTAVO_TRY(Touched * touched, touch(target));
  touched->must_be_written = true;
  return {};
}

Expected<void> Settlement::claim(const std::string& target, const std::string& source) {
  OCTAVO_TRY(Touched * touched, touch(target));
  if (!touched->after) {
    // What the target has of it is known if it was given up in this batch.
    touched->after = touched->before.value_or(RowRecord{});
    touched->after->is_claimed_often = false;
    touched->after->source = source;
    touched->has_new_source = true;
    ++numbers_.candidates;
    return {};
  }
  RowRecord& row = *touched->after;
  const storage::Tree claims = tree(StateTree::claims);
  if (!row.is_claimed_often) OCTAVO_TRY_VOID(long_key::put(transaction_, claims, claim_key(target, row.source), {}));
  OCTAVO_TRY_VOID(long_key::put(transaction_, claims, claim_key(target, source), {}));
  row.is_claimed_often = true;
  ++numbers_.collisions;
  if (source < row.source) {
    row.source = source;
    touched->has_new_source = true;
  }
  return {};
}

Expected<void> Settlement::give_up(const std::string& target, const std::string& source) {
  OCTAVO_TRY(Touched * touched, touch(target));
  if (!touched->after) return fail(ErrorCode::corrupted, "A row of a projection is missing in its state.");
  if (touched->after->is_claimed_often) return give_up_one_of_several(target, *touched, source);
  touched->after.reset();
  --numbers_.candidates;
  return {};
}

Expected<void> Settlement::give_up_one_of_several(const std::string& target, Touched& touched,
                                                  const std::string& source) {
  const storage::Tree claims = tree(StateTree::claims);
  OCTAVO_TRY_VOID(long_key::erase(transaction_, claims, claim_key(target, source)));
  --numbers_.collisions;
  std::string prefix;
  append_escaped(prefix, target);
  std::vector<std::string> left;  // at most two, the least first
  {
    storage::LongKeyCursor cursor(transaction_, claims);
    for (auto row = cursor.seek(prefix); row && row->key.starts_with(prefix) && left.size() < 2; row = cursor.next()) {
      left.emplace_back(row->key.substr(prefix.size()));
    }
  }
  if (left.empty()) return fail(ErrorCode::corrupted, "The claims to a row of a projection are missing in its state.");
  RowRecord& row = *touched.after;
  if (left.size() == 1) {
    OCTAVO_TRY_VOID(long_key::erase(transaction_, claims, claim_key(target, left.front())));
    row.is_claimed_often = false;
  }
  touched.has_new_source = touched.has_new_source || row.source != left.front();
  row.source = left.front();
  return {};
}

bool Settlement::must_evaluate(const Touched& touched) const {
  const RowRecord& row = *touched.after;
  return touched.has_new_source || touched.must_be_written || row.digest.empty() || row.epoch != numbers_.epoch ||
         batch_.contains(row.source);
}

Expected<void> Settlement::evaluate(const std::string& target, Touched& touched) {
  if (std::exchange(touched.is_evaluated, true)) return {};
  const std::string& source = touched.after->source;
  if (const auto known = batch_.find(source); known != batch_.end()) {
    const auto row = std::ranges::find(known->second->rows, target, &ProjectedRow::id);
    if (row != known->second->rows.end()) touched.row = &*row;
    return {};
  }
  OCTAVO_TRY(touched.evaluated, evaluate_again(source, target));
  // Otherwise the document has changed since the batch was read: its change comes later and touches this row again.
  if (touched.evaluated) touched.row = &*touched.evaluated;
  return {};
}

Expected<std::optional<ProjectedRow>> Settlement::evaluate_again(const std::string& source, std::string_view target) {
  auto known = evaluated_.find(source);
  if (known == evaluated_.end()) {
    OCTAVO_TRY(auto document, evaluate_(source));
    if (document.rows.size() < 2) {  // as most documents have
      const bool is_this = !document.rows.empty() && document.rows.front().id == target;
      return is_this ? std::optional(std::move(document.rows.front())) : std::nullopt;
    }
    evaluated_bytes_ += document.bytes();
    if (evaluated_bytes_ > evaluated_bytes_max) {
      evaluated_.clear();
      evaluated_bytes_ = document.bytes();
    }
    known = evaluated_.emplace(source, std::move(document.rows)).first;
  }
  const auto row = std::ranges::find(known->second, target, &ProjectedRow::id);
  if (row == known->second.end()) return std::nullopt;
  return std::exchange(*row, {});
}

Expected<void> Settlement::put_rank(const std::string& target, const RowRecord& record) {
  if (record.rank.empty()) return {};
  std::string value(1, record.may_be_there ? '\1' : '\0');
  value += target;
  return long_key::put(transaction_, tree(StateTree::ranks), record.rank + target, value);
}

Expected<void> Settlement::move_rank(const std::string& target, Touched& touched) {
  const std::string before = touched.before ? touched.before->rank : std::string();
  const std::string after = touched.after ? touched.after->rank : std::string();
  if (before == after) return {};
  if (!before.empty()) OCTAVO_TRY_VOID(long_key::erase(transaction_, tree(StateTree::ranks), before + target));
  return touched.after ? put_rank(target, *touched.after) : Expected<void>{};
}

Expected<void> Settlement::select_newest(const std::string& group, std::set<std::string, std::less<>>& selected) {
  std::vector<std::string> moving;  // in or out
  {
    storage::LongKeyCursor cursor(transaction_, tree(StateTree::ranks));
    std::size_t number = 0;
    // Before the batch, the rows that may be there were the first ones. Behind the first n there are now those that
    // were pushed out, and between them only rows that the batch has touched.
    for (auto row = cursor.seek(group); row && row->key.starts_with(group); row = cursor.next(), ++number) {
      const bool may_be_there = row->value.front() != '\0';
      const std::string_view target = row->value.substr(1);
      const bool is_touched = touched_.contains(target);
      if (number < newest_) {
        selected.emplace(target);
        if (!may_be_there && !is_touched) moving.emplace_back(target);
      } else {
        if (!may_be_there && !is_touched) break;
        if (!is_touched) moving.emplace_back(target);
      }
    }
  }
  for (const std::string& target : moving) OCTAVO_TRY_VOID(touch(target));
  return {};
}

Expected<void> Settlement::decide_newest() {
  std::set<std::string> groups;
  for (auto& [target, touched] : touched_) {
    OCTAVO_TRY_VOID(move_rank(target, touched));
    if (touched.before && !touched.before->rank.empty()) groups.insert(group_of(touched.before->rank));
    if (touched.after && !touched.after->rank.empty()) groups.insert(group_of(touched.after->rank));
  }
  std::set<std::string, std::less<>> selected;
  for (const std::string& group : groups) OCTAVO_TRY_VOID(select_newest(group, selected));
  for (auto& [target, touched] : touched_) {
    if (!touched.after || !selected.contains(target)) {
      OCTAVO_TRY_VOID(remove(target, touched));
      continue;
    }
    RowRecord& row = *touched.after;
    if (!touched.is_evaluated && (!row.may_be_there || must_evaluate(touched))) {
      OCTAVO_TRY_VOID(evaluate(target, touched));
      // Its document has changed, so it may not be among the newest any more.
      if (touched.row != nullptr && touched.row->rank != row.rank) touched.row = nullptr;
    }
    if (touched.is_evaluated) OCTAVO_TRY_VOID(write(target, touched));
  }
  return {};
}

Expected<void> Settlement::decide() {
  if (is_hidden_) {
    for (auto& [target, touched] : touched_) OCTAVO_TRY_VOID(move_rank(target, touched));
    return {};
  }
  if (newest_ > 0) return decide_newest();
  for (auto& [target, touched] : touched_) {
    if (!touched.after) OCTAVO_TRY_VOID(remove(target, touched));
    if (touched.after && touched.is_evaluated) OCTAVO_TRY_VOID(write(target, touched));
  }
  return {};
}

Expected<void> Settlement::settle() {
  for (auto& [target, touched] : touched_) {
    if (!touched.after || !must_evaluate(touched)) continue;
    // Rows that are not written, as those beyond the newest, need no body, but their rank if their document has
    // changed.
    const bool is_changed = touched.has_new_source || batch_.contains(touched.after->source);
    if (newest_ > 0 ? !is_changed : is_hidden_) continue;
    OCTAVO_TRY_VOID(evaluate(target, touched));
    touched.after->rank = touched.row != nullptr ? touched.row->rank : std::string();
  }
  OCTAVO_TRY_VOID(decide());
  for (const auto& [target, touched] : touched_) OCTAVO_TRY_VOID(store(target, touched));
  return {};
}

Expected<void> Settlement::replace(const std::string& target) {
  OCTAVO_TRY(const auto stored, long_key::get(transaction_, tree(StateTree::rows), target));
  if (stored) {
    OCTAVO_TRY(const RowRecord row, decode_row(*stored));
    if (row.may_be_there) return {};
  }
  writes_.push_back({target, true, {}});
  return {};
}

Expected<void> Settlement::write(const std::string& target, Touched& touched) {
  RowRecord& row = *touched.after;
  if (touched.row == nullptr) {
    row.digest.clear();
    return {};
  }
  std::string digest = digest_of(touched.row->body);
  const bool is_known = row.may_be_there && row.epoch == numbers_.epoch && row.digest == digest;
  if (is_known && !touched.must_be_written) return {};
  writes_.push_back({target, false, touched.row->body});
  row.digest = std::move(digest);
  row.epoch = numbers_.epoch;
  if (std::exchange(row.may_be_there, true)) return {};
  ++numbers_.rows;
  return put_rank(target, row);
}

Expected<void> Settlement::remove(const std::string& target, Touched& touched) {
  const RowRecord* const known = touched.after ? &*touched.after : touched.before ? &*touched.before : nullptr;
  if (known == nullptr || !known->may_be_there) return {};
  writes_.push_back({target, true, {}});
  OCTAVO_ASSERT(numbers_.rows > 0);
  --numbers_.rows;
  if (!touched.after) return {};
  touched.after->may_be_there = false;
  touched.after->digest.clear();
  return put_rank(target, *touched.after);
}

Expected<void> Settlement::store(const std::string& target, const Touched& touched) {
  const storage::Tree rows = tree(StateTree::rows);
  if (!touched.after) {
    if (touched.before) OCTAVO_TRY_VOID(long_key::erase(transaction_, rows, target));
    return {};
  }
  std::string record = encode_row(*touched.after);
  if (touched.before && encode_row(*touched.before) == record) return {};
  return long_key::put(transaction_, rows, target, record);
}

}  // namespace octavo::query::project

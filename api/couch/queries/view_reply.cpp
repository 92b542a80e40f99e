#include "api/couch/queries/view_reply.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "api/models/document_renderer.h"
#include "base/json_writer.h"
#include "query/json/parsed_document.h"

namespace octavo::api::couch {

namespace {

using partitioning::ScanBudget;
using partitioning::ScanState;
using partitioning::Visit;
using query::views::KeyRange;
using query::views::ReduceScan;
using query::views::RowRange;
using query::views::RowScan;
using query::views::ViewRow;

/// The ranges of a query: one, or one for each of `keys`. Ranges of keys are created one at a time, as there may be
/// many.
class ViewRanges {
 public:
  /// Errors of an invalid range; does not check `keys`.
  static Expected<ViewRanges> make(const ViewTarget& target, ViewQuery& query) {
    ViewRanges ranges;
    ranges.partition_ = query.partition.value_or(std::string());
    ranges.keys_ = std::exchange(query.keys, std::nullopt);
    ranges.range_ = query.range;
    if (!ranges.keys_) {
      OCTAVO_TRY(ranges.single_, query::views::row_range(*target.group, target.view, ranges.partition_, query.range));
    } else if (query.range.descending) {
      std::ranges::reverse(*ranges.keys_);
    }
    return ranges;
  }

  std::size_t size() const { return keys_ ? keys_->size() : 1; }
  bool are_many() const { return size() > few_max; }
  Expected<RowRange> at(const ViewTarget& target, std::size_t number) const {
    if (!keys_) return single_;
    KeyRange one = range_;
    one.start = one.end = (*keys_)[number];
    return query::views::row_range(*target.group, target.view, partition_, one);
  }

 private:
  static constexpr std::size_t few_max = 64;

  std::string partition_;
  KeyRange range_;
  decltype(ViewQuery::keys) keys_;
  RowRange single_;
};

bool is_over(const ScanBudget& budget) {
  return budget.until != ScanBudget::Clock::time_point::max() && ScanBudget::Clock::now() >= budget.until;
}

void append_update_sequence(std::string& out, const ViewTarget& target) {
  out += "\"update_seq\":";
  append_json_string(out, target.database->format_sequence(target.group->checkpoint()));
  out += ',';
}

/// `{"total_rows":…,"offset":…,"rows":[…]}`
class MapReply final : public SliceProducer {
 public:
  MapReply(ViewTarget target, ViewQuery query, ViewRanges ranges)
      : target_(std::move(target)), query_(std::move(query)), ranges_(std::move(ranges)), skip_(query_.skip) {}

  bool may_take_long() const override { return ranges_.are_many(); }

  Expected<bool> produce(std::string& out, ScanBudget budget) override {
    if (!begun_) {
      OCTAVO_TRY(begun_, append_head(out, budget));
      if (!begun_) return false;
    }
    while (emitted_ < query_.limit) {
      if (!scan_) {
        if (next_ == ranges_.size()) break;
        OCTAVO_TRY(auto range, ranges_.at(target_, next_));
        ++next_;
        scan_.emplace(target_.group, target_.view, std::move(range), skip_);
      }
      Expected<void> rendered;
      OCTAVO_TRY(const auto state, scan_->run(budget, [&](const ViewRow& row) {
        rendered = append_row(out, row);
        if (!rendered || emitted_ == query_.limit) return Visit::stop;
        return out.size() >= ScanBudget::output_bytes_max ? Visit::pause : Visit::next;
      }));
      OCTAVO_TRY_VOID(rendered);
      if (state == ScanState::more) return false;
      skip_ = scan_->skip_left();
      scan_.reset();
      // Pause here too: there may be many keys with few rows each.
      if (out.size() >= ScanBudget::output_bytes_max || budget.is_over_after(8) ||
          ++ranges_done_ % budget.rows_max == 0) {
        if (next_ < ranges_.size() && emitted_ < query_.limit) return false;
      }
    }
    out += "\r\n]}";
    return true;
  }

 private:
  // False if the budget was used up before the offset was known.
  Expected<bool> append_head(std::string& out, const ScanBudget& budget) {
    if (!query_.sorted) {
      out += '{';
      if (query_.update_sequence) append_update_sequence(out, target_);
      out += "\"rows\":[\r\n";
      return true;
    }
    query::views::RowCounts counts;
    if (ranges_.size() == 0) {
      KeyRange all;
      OCTAVO_TRY(const auto range,
                 query::views::row_range(*target_.group, target_.view, query_.partition.value_or(std::string()), all));
      OCTAVO_TRY(counts, query::views::count_rows(*target_.group, target_.view, range));
      counts.offset = 0;
    }
    // CouchDB's offset is the offset of the first row found, plus the skipped rows. Keys before that row have no rows.
    for (std::size_t looked_at = 1; next_ < ranges_.size(); ++next_, ++looked_at) {
      OCTAVO_TRY(const auto range, ranges_.at(target_, next_));
      OCTAVO_TRY(counts, query::views::count_rows(*target_.group, target_.view, range));
      if (!counts.empty) break;
      if (looked_at % keys_between_looks == 0 && is_over(budget) && next_ + 1 < ranges_.size()) {
        ++next_;
        return false;
      }
    }
    const std::uint64_t skipped = std::min(query_.skip, counts.total);
    out += "{\"total_rows\":";
    append_json_number(out, counts.total);
    out += ",\"offset\":";
    append_json_number(out, std::min(counts.total, counts.offset + skipped));
    out += ',';
    if (query_.update_sequence) append_update_sequence(out, target_);
    out += "\"rows\":[\r\n";
    return true;
  }

  Expected<void> append_row(std::string& out, const ViewRow& row) {
    if (emitted_++ > 0) out += ",\r\n";
    out += "{\"id\":";
    const std::string id = row.id();
    append_json_string(out, id);
    out += ",\"key\":";
    out += row.key;
    out += ",\"value\":";
    out += row.value;
    if (query_.include_docs) {
      out += ",\"doc\":";
      OCTAVO_TRY_VOID(append_document_of(out, id, row.value));
    }
    out += '}';
    return {};
  }

  // Appends the document of the row, or the linked document that the row's value names.
  Expected<void> append_document_of(std::string& out, std::string_view id, std::string_view value) {
    std::string linked;
    std::optional<storage::Revision> revision;
    if (value.starts_with('{')) {
      OCTAVO_TRY(const auto object, parser_.parse(value));
      const auto link = object["_id"];
      if (link.error() == simdjson::SUCCESS) {
        if (!link.value_unsafe().is_string()) {
          out += "null";
          return {};
        }
        linked = link.get_string().value_unsafe();
        id = linked;
        const auto text = object["_rev"].get_string();
        if (text.error() == simdjson::SUCCESS) {
          const auto parsed = storage::Revision::parse(text.value_unsafe());
          if (!parsed) {
            out += "null";
            return {};
          }
          revision = *parsed;
        }
      }
    }
    if (id.empty()) {
      out += "null";
      return {};
    }
    OCTAVO_TRY(const auto snapshot, target_.database->snapshot_for_document(id));
    OCTAVO_TRY(const auto document, snapshot.find(id));
    if (document && revision && document->revision != *revision) {
      OCTAVO_TRY(const auto tree, snapshot.revision_tree(*document));
      const auto* leaf = tree.find(*revision);
      if (leaf && leaf->leaf) {
        OCTAVO_TRY_VOID(append_node(out, *document, snapshot, tree, *leaf, {}));
        return {};
      }
    } else if (document && (!document->deleted || revision)) {
      OCTAVO_TRY_VOID(
          append_document(out, *document, snapshot, RenderOptions{.conflicts = query_.conflicts.value_or(false)}));
      return {};
    }
    out += "null";
    return {};
  }

  static constexpr std::size_t keys_between_looks = 8;

  ViewTarget target_;
  ViewQuery query_;
  ViewRanges ranges_;
  std::uint64_t skip_;
  std::uint64_t emitted_ = 0;
  std::size_t next_ = 0;
  std::size_t ranges_done_ = 0;
  std::optional<RowScan> scan_;
  query::DocumentParser parser_;
  bool begun_ = false;
};

/// `{"rows":[{"key":…,"value":…}, …]}`
class ReduceReply final : public SliceProducer {
 public:
  ReduceReply(ViewTarget target, ViewQuery query, ViewRanges ranges)
      : target_(std::move(target)), query_(std::move(query)), ranges_(std::move(ranges)), skip_(query_.skip) {}

  bool may_take_long() const override { return ranges_.are_many() || runs_functions(); }
  bool runs_functions() const override { return target_.group->reducer(target_.view)->runs_functions(); }

  Expected<bool> produce(std::string& out, ScanBudget budget) override {
    for (std::size_t groups = 1; emitted_ < query_.limit; ++groups) {
      if (!scan_) {
        if (next_ == ranges_.size()) break;
        OCTAVO_TRY(auto range, ranges_.at(target_, next_));
        ++next_;
        scan_.emplace(target_.group, target_.view, std::move(range), query_.level());
      }
      OCTAVO_TRY(const auto group, scan_->next(skip_ > 0));
      if (!group) {
        scan_.reset();
      } else if (skip_ > 0) {
        --skip_;
      } else {
        append_head(out);
        append_group(out, *group);
      }
      // A group costs about as much as a few hundred rows.
      if (is_over(budget) || groups == budget.rows_max || out.size() >= ScanBudget::output_bytes_max) return false;
    }
    append_head(out);
    out += "\r\n]}";
    return true;
  }

 private:
  // Called with the first row, so that an earlier error gets an ordinary reply.
  void append_head(std::string& out) {
    if (std::exchange(begun_, true)) return;
    out += '{';
    if (query_.update_sequence) append_update_sequence(out, target_);
    out += "\"rows\":[\r\n";
  }

  void append_group(std::string& out, const ReduceScan::Group& group) {
    if (emitted_++ > 0) out += ",\r\n";
    if (const auto reason = query::views::overflow_reason(group.value)) {
      out += "{\"key\":null,\"error\":\"reduce_overflow_error\",\"reason\":";
      append_json_string(out, *reason);
      out += '}';
      return;
    }
    out += "{\"key\":";
    out += group.key;
    out += ",\"value\":";
    out += group.value;
    out += '}';
  }

  ViewTarget target_;
  ViewQuery query_;
  ViewRanges ranges_;
  std::uint64_t skip_;
  std::uint64_t emitted_ = 0;
  std::size_t next_ = 0;
  std::optional<ReduceScan> scan_;
  bool begun_ = false;
};

class SingleViewReply final : public SliceProducer {
 public:
  explicit SingleViewReply(std::unique_ptr<SliceProducer> answer) : answer_(std::move(answer)) {}
  bool may_take_long() const override { return answer_->may_take_long(); }
  bool runs_functions() const override { return answer_->runs_functions(); }
  Expected<bool> produce(std::string& out, ScanBudget budget) override {
    OCTAVO_TRY(const bool complete, answer_->produce(out, budget));
    if (complete) out += '\n';
    return complete;
  }

 private:
  std::unique_ptr<SliceProducer> answer_;
};

class SeveralViewReplies final : public SliceProducer {
 public:
  explicit SeveralViewReplies(std::vector<std::unique_ptr<SliceProducer>> answers) : answers_(std::move(answers)) {}

  bool may_take_long() const override {
    return answers_.size() > few_max ||
           std::ranges::any_of(answers_, [](const auto& one) { return one->may_take_long(); });
  }
  bool runs_functions() const override {
    const auto left = std::span(answers_).subspan(next_);
    return std::ranges::any_of(left, [](const auto& answer) { return answer->runs_functions(); });
  }

  Expected<bool> produce(std::string& out, ScanBudget budget) override {
    while (next_ < answers_.size()) {
      if (!std::exchange(within_, true)) out += next_ == 0 ? "{\"results\":[\r\n" : ",\r\n";
      OCTAVO_TRY(const bool complete, answers_[next_]->produce(out, budget));
      if (!complete) return false;
      answers_[next_++].reset();
      within_ = false;
      if (next_ < answers_.size() && (out.size() >= ScanBudget::output_bytes_max || is_over(budget))) return false;
    }
    if (answers_.empty()) out += "{\"results\":[";
    out += "\r\n]}\n";
    return true;
  }

 private:
  static constexpr std::size_t few_max = 16;

  std::vector<std::unique_ptr<SliceProducer>> answers_;
  std::size_t next_ = 0;
  bool within_ = false;
};

}  // namespace

Expected<std::unique_ptr<SliceProducer>> make_view_reply(const ViewTarget& target, ViewQuery query) {
  OCTAVO_TRY(auto ranges, ViewRanges::make(target, query));
  if (query.reduce.value_or(false)) {
    return std::make_unique<ReduceReply>(target, std::move(query), std::move(ranges));
  }
  return std::make_unique<MapReply>(target, std::move(query), std::move(ranges));
}

std::unique_ptr<SliceProducer> single_view_reply(std::unique_ptr<SliceProducer> answer) {
  return std::make_unique<SingleViewReply>(std::move(answer));
}

std::unique_ptr<SliceProducer> several_view_replies(std::vector<std::unique_ptr<SliceProducer>> answers) {
  return std::make_unique<SeveralViewReplies>(std::move(answers));
}

}  // namespace octavo::api::couch

#include "query/search/run/searcher.h"

#include <algorithm>
#include <cmath>
#include <lucene++/BooleanQuery.h>
#include <lucene++/Query.h>
#include <lucene++/Scorer.h>
#include <lucene++/Term.h>
#include <lucene++/TermDocs.h>
#include <lucene++/TermEnum.h>
#include <lucene++/Weight.h>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/json_writer.h"
#include "query/json/parsed_document.h"
#include "query/search/documents/document_builder.h"
#include "query/search/lucene/lucene_text.h"
#include "query/search/run/highlighter.h"
#include "query/search/run/hit_order.h"
#include "query/search/run/query_builder.h"

namespace octavo::query::search {

namespace {

using Lucene::DocIdSetIterator;

/// Counts the values of facets among the found documents.
class FacetCounter {
 public:
  FacetCounter(const SearchRequest& request, ColumnCache& columns, SearchBudget& budget)
      : request_(request), columns_(columns), budget_(budget) {
    for (const auto& field : request.counts) counts_.emplace_back(Counts{field, nullptr, {}, {}, false});
    for (const auto& [field, ranges] : request.ranges) {
      ranges_.push_back({field, nullptr, std::vector<std::uint64_t>(ranges.size())});
    }
  }

  bool wanted() const { return !counts_.empty() || !ranges_.empty(); }

  void enter_segment(const IndexSnapshot::Segment& segment) {
    leave_segment();
    base_ = segment.base;
    for (Counts& counts : counts_) {
      counts.column = columns_.facets(segment.reader, counts.field, budget_);
      counts.by_term.assign(counts.column->term_count(), 0);
      counts.known = counts.known || counts.column->term_count() > 0;
    }
    for (Ranges& ranges : ranges_) ranges.column = columns_.numbers(segment.reader, ranges.field, budget_);
  }

  void add(int32_t document) {
    const auto in_segment = static_cast<std::size_t>(document - base_);
    for (Counts& counts : counts_) {
      const FacetColumn& column = *counts.column;
      for (std::uint32_t i = column.first[in_segment]; i < column.first[in_segment + 1]; ++i) {
        ++counts.by_term[column.values[i]];
      }
    }
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      const double number = ranges_[i].column->value_of[in_segment];
      if (std::isnan(number)) continue;
      const auto& wanted = request_.ranges[i].second;
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        const FacetRange& range = wanted[k];
        const bool above = range.lower_inclusive ? number >= range.lower : number > range.lower;
        const bool below = range.upper_inclusive ? number <= range.upper : number < range.upper;
        if (above && below) ++ranges_[i].by_range[k];
      }
    }
  }

  Expected<void> finish(SearchResult& result, const Lucene::IndexReaderPtr& reader) {
    leave_segment();
    const bool index_is_empty = reader->numDocs() == 0;
    for (Counts& counts : counts_) {
      if (!counts.known && !index_is_empty && !is_facet(reader, counts.field)) {
        return fail(ErrorCode::bad_request, fmt::format("dimension \"{}\" was not indexed", counts.field));
      }
      FacetCounts sorted(counts.totals.begin(), counts.totals.end());
      std::ranges::stable_sort(sorted, std::greater<>{}, &FacetCounts::value_type::second);
      result.counts.emplace_back(counts.field, std::move(sorted));
    }
    for (std::size_t i = 0; i < ranges_.size(); ++i) {
      FacetCounts counted;
      const auto& wanted = request_.ranges[i].second;
      for (std::size_t k = 0; k < wanted.size(); ++k) counted.emplace_back(wanted[k].label, ranges_[i].by_range[k]);
      result.ranges.emplace_back(ranges_[i].field, std::move(counted));
    }
    return {};
  }

 private:
  struct Counts {
    std::string field;
    std::shared_ptr<const FacetColumn> column;
    std::vector<std::uint64_t> by_term;                        ///< in the current segment
    std::map<std::string, std::uint64_t, std::less<>> totals;  ///< in the segments before it
    bool known;
  };
  struct Ranges {
    std::string field;
    std::shared_ptr<const NumberColumn> column;
    std::vector<std::uint64_t> by_range;
  };

  // Whether any document of the index, found or not, has a value in the facet.
  static bool is_facet(const Lucene::IndexReaderPtr& reader, const std::string& field) {
    const Lucene::String name = facet_field(field);
    const Lucene::TermPtr first = reader->terms(Lucene::newLucene<Lucene::Term>(name))->term();
    return first && first->_field == name;
  }

  void leave_segment() {
    for (Counts& counts : counts_) {
      for (std::uint32_t term = 0; term < counts.by_term.size(); ++term) {
        if (counts.by_term[term] > 0) counts.totals[std::string(counts.column->term(term))] += counts.by_term[term];
      }
      counts.by_term.clear();
    }
  }

  const SearchRequest& request_;
  ColumnCache& columns_;
  SearchBudget& budget_;
  int32_t base_ = 0;
  std::vector<Counts> counts_;
  std::vector<Ranges> ranges_;
};

class Search {
 public:
  Search(const IndexSnapshot& snapshot, const FieldAnalyzers& analyzers, ColumnCache& columns,
         const SearchRequest& request)
      : snapshot_(snapshot),
        analyzers_(analyzers),
        columns_(columns),
        request_(request),
        budget_(std::make_shared<SearchBudget>(request.deadline)) {
    if (request.partition) partition_ = std::make_shared<PartitionDocuments>(*request.partition, budget_);
  }

  Expected<SearchResult> run() {
    budget_->look();
    OCTAVO_TRY_VOID(prepare());
    SearchResult result;
    if (request_.grouping) {
      OCTAVO_TRY_VOID(find_groups(result));
    } else {
      OCTAVO_TRY_VOID(find_hits(result));
    }
    return result;
  }

 private:
  Expected<void> prepare() {
    QueryBuilder builder(analyzers_, snapshot_.reader, budget_, partition_);
    OCTAVO_TRY(Lucene::QueryPtr query, builder.build(request_.query));
    if (!query) return {};
    if (!request_.drilldown.empty()) {
      const auto narrowed = Lucene::newLucene<Lucene::BooleanQuery>();
      narrowed->add(query, Lucene::BooleanClause::MUST);
      for (const auto& category : request_.drilldown) {
        narrowed->add(QueryBuilder::any_facet(category.front(), std::span(category).subspan(1)),
                      Lucene::BooleanClause::MUST);
      }
      query = narrowed;
    }
    weight_ = query->weight(snapshot_.searcher);
    return {};
  }

  // Calls `found(document, score)` for each match, in the order of document numbers.
  template <class Enter, class Found>
  void for_each_match(bool scored, Enter enter, Found found) {
    if (!weight_) return;
    for (const IndexSnapshot::Segment& segment : snapshot_.segments) {
      const Lucene::ScorerPtr scorer = weight_->scorer(segment.reader, true, false);
      if (!scorer) continue;
      bool entered = false;
      const auto take = [&](int32_t document) {
        if (!entered) enter(segment);
        entered = true;
        budget_->step();
        double score = scored ? scorer->score() : 0;
        if (!std::isfinite(score)) score = 0;
        found(document + segment.base, score);
      };
      if (partition_) {
        leapfrog(segment, *scorer, take);
      } else {
        for (int32_t document = scorer->nextDoc(); document != DocIdSetIterator::NO_MORE_DOCS;
             document = scorer->nextDoc()) {
          take(document);
        }
      }
    }
  }

  // Intersects the partition's documents with those of the query: each list skips the documents missing in the other.
  template <class Take>
  void leapfrog(const IndexSnapshot::Segment& segment, Lucene::Scorer& scorer, Take take) {
    const Lucene::TermDocsPtr partition = segment.reader->termDocs(partition_->term());
    if (!partition->next()) return;
    int32_t document = scorer.advance(partition->doc());
    while (document != DocIdSetIterator::NO_MORE_DOCS) {
      budget_->step();
      if (document == partition->doc()) {
        take(document);
        if (!partition->next()) return;
        document = scorer.advance(partition->doc());
      } else if (document < partition->doc()) {
        document = scorer.advance(partition->doc());
      } else if (!partition->skipTo(document)) {
        return;
      }
    }
  }

  // The number of the first document with a greater ordinal.
  int32_t first_after(std::uint64_t ordinal) {
    int32_t low = 0;
    int32_t high = snapshot_.reader->maxDoc();
    while (low < high) {
      int32_t middle = low + (high - low) / 2;
      const int32_t begin = middle;
      // The stored fields of deleted documents cannot be read.
      while (middle < high && snapshot_.reader->isDeleted(middle)) {
        budget_->step();
        ++middle;
      }
      if (middle == high) {
        high = begin;
        continue;
      }
      const std::string bytes = snapshot_.stored(middle);
      const auto stored = StoredDocument::read(bytes);
      if (stored && stored->ordinal > ordinal) {
        high = begin;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  // The current sort values of the last row of the previous page: scores change as the index grows. nullopt if the
  // document no longer exists or is no longer a hit.
  std::optional<std::vector<OrderSlot>> slots_now(int32_t document, std::uint64_t ordinal, HitOrder& order) {
    if (document < 0 || !weight_ || snapshot_.reader->isDeleted(document)) return std::nullopt;
    const std::string bytes = snapshot_.stored(document);
    const auto stored = StoredDocument::read(bytes);
    if (!stored || stored->ordinal != ordinal) return std::nullopt;
    const auto& segment = snapshot_.segment_of(document);
    const Lucene::ScorerPtr scorer = weight_->scorer(segment.reader, true, false);
    if (!scorer || scorer->advance(document - segment.base) != document - segment.base) return std::nullopt;
    const double score = order.needs_score() ? scorer->score() : 0;
    order.enter_segment(segment);
    std::vector<OrderSlot> slots;
    order.read(document, segment.base, std::isfinite(score) ? score : 0, slots);
    return slots;
  }

  Expected<void> find_hits(SearchResult& result) {
    HitOrder order(request_.sort, columns_, *budget_);
    FacetCounter facets(request_, columns_, *budget_);
    TopHits top(order, request_.limit + request_.skip);
    std::optional<std::vector<OrderSlot>> after;
    int32_t first_equal = 0;
    result.bookmark.sort = sort_checksum(request_.sort);
    if (request_.bookmark) {
      result.bookmark = *request_.bookmark;
      if (request_.bookmark->sort != sort_checksum(request_.sort)) {
        return fail(ErrorCode::bad_request, "sort order not compatible with given bookmark");
      }
      if (!request_.bookmark->order.empty()) {
        after = order.slots_of(request_.bookmark->order);
        if (!after) return fail(ErrorCode::bad_request, "sort order not compatible with given bookmark");
        first_equal = first_after(request_.bookmark->ordinal);
        if (auto now = slots_now(first_equal - 1, request_.bookmark->ordinal, order)) after = std::move(now);
      }
    }
    std::vector<OrderSlot> slots;
    int32_t base = 0;
    const auto enter = [&](const IndexSnapshot::Segment& segment) {
      base = segment.base;
      order.enter_segment(segment);
      facets.enter_segment(segment);
    };
    for_each_match(order.needs_score(), enter, [&](int32_t document, double score) {
      ++result.total_rows;
      if (facets.wanted()) facets.add(document);
      order.read(document, base, score, slots);
      if (after) {
        const int comparison = order.compare(slots, *after);
        if (comparison < 0 || (comparison == 0 && document < first_equal)) return;
      }
      top.offer(document, slots);
    });
    OCTAVO_TRY_VOID(facets.finish(result, snapshot_.reader));
    auto found = top.take();
    const std::size_t skipped = std::min(request_.skip, found.size());
    found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(skipped));
    OCTAVO_TRY(result.hits, load(found, order));
    if (!found.empty()) {
      result.bookmark.ordinal = result.hits.back().ordinal;
      result.bookmark.order = order.bookmark_values(found.back());
    }
    return {};
  }

  struct Group {
    std::vector<OrderSlot> best;
    int32_t best_document = 0;
    std::uint64_t total = 0;
    std::optional<TopHits> hits;
  };

  Expected<void> find_groups(SearchResult& result) {
    const Grouping& grouping = *request_.grouping;
    // First find the first groups, then their documents, so that only the documents of few groups are kept.
    std::map<std::optional<std::string_view>, Group> groups;
    std::vector<std::shared_ptr<const StringColumn>> kept;
    HitOrder group_order(grouping.sort, columns_, *budget_);
    std::vector<OrderSlot> slots;
    int32_t base = 0;
    const auto value_of = [&](int32_t document) -> std::optional<std::string_view> {
      const std::uint32_t value = kept.back()->value_of[static_cast<std::size_t>(document - base)];
      if (value == StringColumn::none) return std::nullopt;
      return kept.back()->value(value);
    };
    const auto enter = [&](const IndexSnapshot::Segment& segment) {
      base = segment.base;
      kept.push_back(columns_.strings(segment.reader, grouping.field, *budget_));
    };
    for_each_match(
        group_order.needs_score(),
        [&](const IndexSnapshot::Segment& segment) {
          enter(segment);
          group_order.enter_segment(segment);
        },
        [&](int32_t document, double score) {
          ++result.total_rows;
          Group& group = groups[value_of(document)];
          group_order.read(document, base, score, slots);
          if (group.total++ == 0 || group_order.compare(slots, group.best) < 0) {
            group.best = slots;
            group.best_document = document;
          }
        });
    std::vector<std::pair<std::optional<std::string_view>, Group*>> first;
    first.reserve(groups.size());
    for (auto& [value, group] : groups) first.emplace_back(value, &group);
    const auto before = [&](const auto& a, const auto& b) {
      const int comparison = group_order.compare(a.second->best, b.second->best);
      return comparison != 0 ? comparison < 0 : a.second->best_document < b.second->best_document;
    };
    const std::size_t count = std::min(grouping.limit, first.size());
    std::ranges::partial_sort(first, first.begin() + static_cast<std::ptrdiff_t>(count), before);
    first.resize(count);

    HitOrder order(request_.sort, columns_, *budget_);
    for (auto& [value, group] : first) group->hits.emplace(order, request_.limit);
    for_each_match(
        order.needs_score(),
        [&](const IndexSnapshot::Segment& segment) {
          enter(segment);
          order.enter_segment(segment);
        },
        [&](int32_t document, double score) {
          const auto found = groups.find(value_of(document));
          if (found == groups.end() || !found->second.hits) return;
          order.read(document, base, score, slots);
          found->second.hits->offer(document, slots);
        });
    for (auto& [value, group] : first) {
      SearchGroup made;
      if (value) made.by = std::string(*value);
      made.total_rows = group->total;
      result.total_grouped_rows += group->total;
      const auto found = group->hits->take();
      OCTAVO_TRY(made.hits, load(found, order));
      result.groups.push_back(std::move(made));
    }
    return {};
  }

  Expected<std::vector<SearchHit>> load(const std::vector<FoundDocument>& found, const HitOrder& order) {
    std::vector<SearchHit> hits;
    hits.reserve(found.size());
    std::optional<Highlighter> highlighter;
    if (request_.highlighting) highlighter.emplace(*request_.highlighting, request_.query, analyzers_, *budget_);
    for (const FoundDocument& one : found) {
      budget_->step();
      const std::string bytes = snapshot_.stored(one.document);
      const auto stored = StoredDocument::read(bytes);
      if (!stored) return fail(ErrorCode::corrupted, "The search index is damaged: a document without its id.");
      SearchHit hit;
      hit.id = stored->id;
      hit.ordinal = stored->ordinal;
      hit.order = order.values(one);
      hit.fields = shown_fields(stored->fields);
      if (highlighter) {
        budget_->look();
        hit.highlights = highlighter->mark(stored->fields);
      }
      hits.push_back(std::move(hit));
    }
    return hits;
  }

  std::string shown_fields(std::string_view stored) {
    if (stored.empty()) return "{}";
    if (!request_.include_fields) return std::string(stored);
    std::string out = "{";
    const auto root = parser_.parse(stored);
    if (root && root->is_object()) {
      const simdjson::dom::object members = root->get_object().value_unsafe();
      for (const auto member : members) {
        if (std::ranges::find(*request_.include_fields, member.key) == request_.include_fields->end()) continue;
        append_json_key(out, member.key);
        out += simdjson::minify(member.value);
      }
    }
    out += '}';
    return out;
  }

  const IndexSnapshot& snapshot_;
  const FieldAnalyzers& analyzers_;
  ColumnCache& columns_;
  const SearchRequest& request_;
  std::shared_ptr<SearchBudget> budget_;
  std::shared_ptr<PartitionDocuments> partition_;
  Lucene::WeightPtr weight_;
  DocumentParser parser_;
};

}  // namespace

Expected<SearchResult> run_search(const IndexSnapshotPtr& snapshot, const FieldAnalyzers& analyzers,
                                  ColumnCache& columns, const SearchRequest& request) {
  return Search(*snapshot, analyzers, columns, request).run();
}

}  // namespace octavo::query::search

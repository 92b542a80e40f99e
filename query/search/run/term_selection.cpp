#include "query/search/run/term_selection.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <lucene++/ConstantScoreQuery.h>
#include <lucene++/DocIdSet.h>
#include <lucene++/Filter.h>
#include <lucene++/Term.h>
#include <lucene++/TermDocs.h>
#include <lucene++/TermEnum.h>
#include <utility>

#include "query/search/lucene/lucene_text.h"

namespace octavo::query::search {

namespace {

class BitIterator : public Lucene::DocIdSetIterator {
 public:
  explicit BitIterator(const std::shared_ptr<const std::vector<std::uint64_t>>& bits) : bits_(bits) {}
  int32_t docID() override { return document_; }
  int32_t nextDoc() override { return advance(document_ + 1); }
  int32_t advance(int32_t target) override {
    if (document_ == NO_MORE_DOCS) return document_;
    auto word = static_cast<std::size_t>(target) / 64;
    if (target < 0 || word >= bits_->size()) return document_ = NO_MORE_DOCS;
    std::uint64_t rest = (*bits_)[word] >> (static_cast<unsigned>(target) % 64);
    if (rest != 0) return document_ = target + std::countr_zero(rest);
    while (++word < bits_->size()) {
      rest = (*bits_)[word];
      if (rest != 0) return document_ = static_cast<int32_t>(word * 64) + std::countr_zero(rest);
    }
    return document_ = NO_MORE_DOCS;
  }

 private:
  std::shared_ptr<const std::vector<std::uint64_t>> bits_;
  int32_t document_ = -1;
};

class BitSetOfDocuments : public Lucene::DocIdSet {
 public:
  explicit BitSetOfDocuments(const std::shared_ptr<const std::vector<std::uint64_t>>& bits) : bits_(bits) {}
  Lucene::DocIdSetIteratorPtr iterator() override { return Lucene::newLucene<BitIterator>(bits_); }

 private:
  std::shared_ptr<const std::vector<std::uint64_t>> bits_;
};

class SelectionFilter : public Lucene::Filter {
 public:
  SelectionFilter(const TermSelection& selection, const std::shared_ptr<SearchBudget>& budget,
                  const std::shared_ptr<PartitionDocuments>& partition)
      : selection_(selection), budget_(budget), partition_(partition) {}

  Lucene::DocIdSetPtr getDocIdSet(const Lucene::IndexReaderPtr& segment) override {
    auto bits = std::make_shared<std::vector<std::uint64_t>>((static_cast<std::size_t>(segment->maxDoc()) + 63) / 64);
    const Lucene::TermDocsPtr postings = segment->termDocs();
    const std::vector<int32_t>* wanted = partition_ ? &partition_->of(segment) : nullptr;
    if (wanted == nullptr || !wanted->empty()) {
      selection_.for_each(segment, *budget_, [&](const Lucene::TermEnumPtr& terms) {
        postings->seek(terms);
        if (wanted != nullptr && static_cast<std::size_t>(terms->docFreq()) > wanted->size()) {
          mark_wanted(*postings, *wanted, *bits);
        } else {
          mark_all(*postings, *bits);
        }
        return true;
      });
    }
    return Lucene::newLucene<BitSetOfDocuments>(std::shared_ptr<const std::vector<std::uint64_t>>(std::move(bits)));
  }

 private:
  static void mark(int32_t document, std::vector<std::uint64_t>& bits) {
    bits[static_cast<std::size_t>(document) / 64] |= 1ULL << (static_cast<unsigned>(document) % 64);
  }

  void mark_all(Lucene::TermDocs& postings, std::vector<std::uint64_t>& bits) {
    while (postings.next()) {
      mark(postings.doc(), bits);
      budget_->step();
    }
  }

  // Moves from one wanted document to the next, using the skip lists of the postings.
  void mark_wanted(Lucene::TermDocs& postings, const std::vector<int32_t>& wanted, std::vector<std::uint64_t>& bits) {
    auto next = wanted.begin();
    while (next != wanted.end() && postings.skipTo(*next)) {
      budget_->step();
      // skipTo always advances, so check its current document before calling it again.
      next = std::lower_bound(next, wanted.end(), postings.doc());
      if (next == wanted.end() || *next != postings.doc()) continue;
      mark(*next, bits);
      ++next;
    }
  }

  TermSelection selection_;
  std::shared_ptr<SearchBudget> budget_;
  std::shared_ptr<PartitionDocuments> partition_;
};

}  // namespace

PartitionDocuments::PartitionDocuments(std::string_view partition, std::shared_ptr<SearchBudget> budget)
    : term_(Lucene::newLucene<Lucene::Term>(partition_field, to_wide(partition))), budget_(std::move(budget)) {}

const std::vector<int32_t>& PartitionDocuments::of(const Lucene::IndexReaderPtr& segment) {
  const auto [found, is_new] = segments_.try_emplace(segment.get());
  if (is_new) {
    const Lucene::TermDocsPtr postings = segment->termDocs(term_);
    while (postings->next()) {
      found->second.push_back(postings->doc());
      budget_->step();
    }
  }
  return found->second;
}

void TermSelection::for_each(const Lucene::IndexReaderPtr& reader, SearchBudget& budget,
                             const std::function<bool(const Lucene::TermEnumPtr&)>& visit) const {
  for (const Range& range : ranges) {
    const Lucene::TermEnumPtr terms = reader->terms(Lucene::newLucene<Lucene::Term>(field, range.first));
    for (Lucene::TermPtr term = terms->term(); term && term->_field == field; term = terms->term()) {
      budget.step();
      const Lucene::String& text = term->_text;
      if (range.prefix && !text.starts_with(*range.prefix)) break;
      if (range.last) {
        const int order = text.compare(*range.last);
        if (order > 0 || (order == 0 && !range.last_included)) break;
      }
      if (test) budget.step_pattern();
      if ((range.first_included || text != range.first) && (!test || test(text)) && !visit(terms)) return;
      if (!terms->next()) break;
    }
  }
}

Lucene::QueryPtr make_selection_query(const TermSelection& selection, const std::shared_ptr<SearchBudget>& budget,
                                      const std::shared_ptr<PartitionDocuments>& partition) {
  return Lucene::newLucene<Lucene::ConstantScoreQuery>(
      Lucene::FilterPtr(Lucene::newLucene<SelectionFilter>(selection, budget, partition)));
}

}  // namespace octavo::query::search

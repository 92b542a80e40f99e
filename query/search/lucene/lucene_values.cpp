#include "query/search/lucene/lucene_values.h"

#include <lucene++/AttributeSource.h>
#include <lucene++/DocIdSet.h>
#include <lucene++/DocumentsWriter.h>
#include <lucene++/FieldCache.h>
#include <lucene++/IndexFileNameFilter.h>
#include <lucene++/IndexFileNames.h>
#include <lucene++/LuceneHeaders.h>
#include <lucene++/MultiTermQuery.h>
#include <lucene++/SegmentTermPositionVector.h>
#include <lucene++/Similarity.h>
#include <lucene++/Sort.h>
#include <lucene++/SortField.h>
#include <lucene++/StandardTokenizer.h>
#include <lucene++/StopAnalyzer.h>
#include <lucene++/TermVectorOffsetInfo.h>
#include <lucene++/Token.h>
#include <lucene++/TopDocsCollector.h>
#include <lucene++/TopFieldCollector.h>
#include <mutex>

namespace octavo::query::search {

namespace {

struct TermPositions : Lucene::SegmentTermPositionVector {
  using Lucene::SegmentTermPositionVector::EMPTY_TERM_POS;
};
struct Norms : Lucene::Similarity {
  using Lucene::Similarity::NORM_TABLE;
};
struct FieldCollector : Lucene::TopFieldCollector {
  using Lucene::TopDocsCollector::EMPTY_TOPDOCS;
  using Lucene::TopFieldCollector::EMPTY_SCOREDOCS;
};

// Calls all functions of version 3.0.8 that test and create a static value without a lock: those that register it with
// CycleCheck::addStatic, and those that fill a static collection. Omits functions that only Lucene++'s own stemmers,
// file locks, remote searches and tests use.
void make_values() {
  Lucene::AttributeFactory::DEFAULT_ATTRIBUTE_FACTORY();
  Lucene::Token::TOKEN_ATTRIBUTE_FACTORY();
  Lucene::StandardTokenizer::TOKEN_TYPES();
  Lucene::StopAnalyzer::ENGLISH_STOP_WORDS_SET();

  Lucene::DocumentsWriter::getDefaultIndexingChain();
  Lucene::IndexFileNameFilter::getFilter();
  Lucene::IndexFileNames::INDEX_EXTENSIONS();
  Lucene::IndexFileNames::INDEX_EXTENSIONS_IN_COMPOUND_FILE();
  Lucene::IndexFileNames::STORE_INDEX_EXTENSIONS();
  Lucene::IndexFileNames::NON_STORE_INDEX_EXTENSIONS();
  Lucene::IndexFileNames::COMPOUND_EXTENSIONS();
  Lucene::IndexFileNames::VECTOR_EXTENSIONS();
  TermPositions::EMPTY_TERM_POS();
  Lucene::TermVectorOffsetInfo::EMPTY_OFFSET_INFO();

  Lucene::Similarity::getDefault();
  Norms::NORM_TABLE();
  Lucene::DocIdSet::EMPTY_DOCIDSET();
  Lucene::MultiTermQuery::CONSTANT_SCORE_FILTER_REWRITE();
  Lucene::MultiTermQuery::SCORING_BOOLEAN_QUERY_REWRITE();
  Lucene::MultiTermQuery::CONSTANT_SCORE_BOOLEAN_QUERY_REWRITE();
  Lucene::MultiTermQuery::CONSTANT_SCORE_AUTO_REWRITE_DEFAULT();
  Lucene::FieldCache::DEFAULT();
  Lucene::FieldCache::DEFAULT_BYTE_PARSER();
  Lucene::FieldCache::DEFAULT_INT_PARSER();
  Lucene::FieldCache::DEFAULT_LONG_PARSER();
  Lucene::FieldCache::DEFAULT_DOUBLE_PARSER();
  Lucene::FieldCache::NUMERIC_UTILS_INT_PARSER();
  Lucene::FieldCache::NUMERIC_UTILS_LONG_PARSER();
  Lucene::FieldCache::NUMERIC_UTILS_DOUBLE_PARSER();
  Lucene::SortField::FIELD_SCORE();
  Lucene::SortField::FIELD_DOC();
  Lucene::Sort::RELEVANCE();
  Lucene::Sort::INDEXORDER();
  FieldCollector::EMPTY_TOPDOCS();
  FieldCollector::EMPTY_SCOREDOCS();
}

}  // namespace

void make_lucene_values() {
  static std::once_flag made;
  std::call_once(made, make_values);
}

}  // namespace octavo::query::search
